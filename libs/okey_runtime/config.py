"""Settings of a service, read from ``OKEY_*`` variables and, for secrets, from files.

A service subclasses ``ServiceSettings`` with its own fields; its ``__main__`` calls ``load()``. The
environment is ``production`` unless something says otherwise, so that a forgotten variable makes a
service stricter, never laxer.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, PositiveInt, SecretStr, field_validator, model_validator

from okey_runtime.audiences import DEFAULT_AUDIENCE
from okey_runtime.dialling import DialSettings
from okey_runtime.logging import LogFormat
from okey_runtime.production import MOST_SKEW_MS, Environment, GuardedSettings
from okey_runtime.tls import is_loopback
from okey_runtime.tls_roles import parse_roles

__all__ = [
    "DEFAULT_AUDIENCE",
    "DEV_ISSUER",
    "Environment",
    "Reflection",
    "ServiceSettings",
    "refuse_in_production",
]

DEV_ISSUER = "okey-standalone-dev"
"""Issuer of the tokens that standalone signs with its own random key; production refuses it."""

PLAYER_TOKEN_MAX_LIFE_MS = 24 * 3_600_000


class Reflection(StrEnum):
    """Who is told by gRPC reflection which methods there are."""

    OPEN = "open"
    CALLERS = "callers"
    OFF = "off"


class ServiceSettings(GuardedSettings, DialSettings):
    """What every service needs to know before it starts; port 0 means any free port."""

    takes_service_calls: ClassVar[bool] = True
    """Whether other services call this one by their role: over TLS it asks for certificates then.
    """

    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=0, ge=0, le=65535)
    advertise_address: str | None = None
    """host:port at which other services reach this process; by default the address it listens on.
    """
    metrics_port: int = Field(default=0, ge=0, le=65535)
    health_port: int | None = Field(default=None, ge=0, le=65535)
    """A second port that serves only gRPC health, in plaintext, for probes that speak no TLS."""
    address_file: Path | None = None
    """Once ready, the service writes the addresses it has bound to this file, as JSON."""

    tls_require_client_cert: bool = False
    """Whether only callers come in that show a certificate of the trusted authorities (mTLS)."""
    tls_roles: str = ""
    """Which DNS name of a caller's certificate has which roles:
    ``lobby.okey=lobby,ops.okey=operator``. Over TLS a token's role of a service counts only with a
    certificate of that role, an operator's likewise where a certificate here is an operator's."""
    tls_roles_alone: bool = True
    """Whether a certificate with roles may call without a token; with false it takes both."""
    tls_edge_name: str = Field(default="", max_length=253)
    """The name in the certificate of the edge, which passes on the calls of others and says from
    which address each comes; bad tokens are counted by that."""
    reflection: Reflection | None = None
    """Who may ask for the list of methods; by default callers with a role in production, everybody
    elsewhere."""

    database_url: SecretStr | None = None
    database_connections: PositiveInt = 8
    """How many connections to PostgreSQL the service keeps at most, so how many transactions run at
    once; or readers of SQLite."""
    migrates: bool | None = None
    """Whether the service brings its database's schema up to date when it starts. By default not in
    production, where a job does it before (``python -m services.<name>.migrate``) and the service
    only checks; everywhere else it does."""

    jwks_file: Path | None = None
    token_issuer: str = DEV_ISSUER
    token_audience: str = DEFAULT_AUDIENCE
    token_skew_ms: int = Field(default=30_000, ge=0)
    player_token_max_life_ms: int = Field(default=PLAYER_TOKEN_MAX_LIFE_MS, ge=60_000)
    """The longest life of a player's token, from ``iat`` to ``exp``; the same at all services.
    Revocations of players' tokens are kept for as long.
    """
    revocations_every_ms: int = Field(default=1_000, ge=10, le=60_000)
    """How often the list of revoked tokens is asked for."""
    token_old_audience: bool = False
    """Whether tokens of the audience of players may still grant the roles of services and
    operators, as in the release before: for the time of an upgrade only."""
    service_token_dir: Path | None = None
    """The folder with this service's own tokens, a file for each service that it calls, such as
    ``wallet.token``; engines show each other ``peer.token``."""
    service_token_file: Path | None = None
    """One token for all of them, as in the release before: shown where the folder has no file."""

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    log_format: LogFormat = LogFormat.JSON
    audit_file: Path | None = None
    """Where the trail of operators' calls is written beside the log, one JSON object a line."""

    calls_per_s: PositiveInt = 50
    """How many calls of one RPC, or messages of its streams, a player may make in a second."""
    calls_burst: PositiveInt = 200
    """How many of them may come at once after a pause."""
    cost_per_s: PositiveInt = 250
    """The budget of a player or an integrator: what its calls may cost in a second, all RPCs
    together; see ``AccessTable``.
    """
    cost_burst: PositiveInt = 2_500
    """What they may cost at once after a pause."""
    bad_tokens_per_s: PositiveInt = 100
    """How many bad tokens a host may show in a second before none of its is looked at that was not
    good before.
    """
    bad_tokens_burst: PositiveInt = 1_000
    """How many of them may come at once after a pause."""
    streams_per_player: PositiveInt = 16
    """How many streams a player may have open at this process."""
    most_calls: PositiveInt = 10_000
    """How many calls that are no streams may be under way before more are refused."""
    max_call_ms: PositiveInt = 60_000
    """How long a call that is no stream may take, whatever its caller's deadline."""
    first_message_ms: PositiveInt = 10_000
    """How long a call may be without its message, and a stream without its first one."""
    max_streams_per_connection: PositiveInt = 4_096
    """How many calls and streams one connection may carry at once; a gateway opens more of them."""
    most_connections: PositiveInt = 4_096
    """How many connections the gRPC port has at once; further ones are closed as they come."""
    most_connections_per_address: PositiveInt = 1_024
    """How many of them one address may have (of IPv6 a /64); those of strangers go first."""
    ping_after_ms: PositiveInt = 20_000
    """After how long a silence a connection is asked whether its peer is still there."""
    ping_timeout_ms: PositiveInt = 10_000
    """How long the answer may take before the connection, and every stream on it, is dropped."""
    max_connection_age_ms: PositiveInt | None = None
    """Closes connections this old, so that clients find new replicas; only where streams can
    resume.
    """
    drain_delay_ms: int = Field(default=0, ge=0)
    """How long a stopping service still takes calls after readiness went off, until balancers have
    noticed.
    """
    drain_timeout_ms: PositiveInt = 20_000
    stop_grace_ms: int = Field(default=5_000, ge=0)

    failpoint: str = ""
    """Tests only: where the process kills itself; see ``okey_runtime.failpoints``."""

    def refused(self) -> Iterator[str]:
        """Why production does not start: keys that are not real, and what is unsafe."""
        if self.jwks_file is None:
            yield "production does not start without OKEY_JWKS_FILE: name the issuer's key file"
        if self.token_issuer == DEV_ISSUER:
            yield (
                f"production refuses the development issuer {DEV_ISSUER!r}: "
                "set OKEY_TOKEN_ISSUER to the real one"
            )
        if self.token_skew_ms > MOST_SKEW_MS:
            yield (
                f"OKEY_TOKEN_SKEW_MS is {self.token_skew_ms}: production allows at most "
                f"{MOST_SKEW_MS}, since ended tokens hold for as long"
            )
        yield from super().refused()

    @model_validator(mode="after")
    def _others_cannot_read_along(self) -> Self:
        is_readable = self.tls_cert_file is None and not is_loopback(self.listen_host)
        if is_readable and not self.allow_plaintext:
            raise ValueError(
                f"OKEY_LISTEN_HOST={self.listen_host} takes calls from beyond this machine: set "
                "OKEY_TLS_CERT_FILE, OKEY_TLS_KEY_FILE and OKEY_TLS_CA_FILE, or "
                "OKEY_ALLOW_PLAINTEXT=true where the network encrypts"
            )
        if self.tls_require_client_cert and self.tls_cert_file is None:
            raise ValueError("OKEY_TLS_REQUIRE_CLIENT_CERT needs OKEY_TLS_CERT_FILE")
        self._refuse_services_without_certificates()
        for name, value in (
            ("OKEY_TLS_ROLES", self.tls_roles),
            ("OKEY_TLS_EDGE_NAME", self.tls_edge_name),
        ):
            if value and not self.tls_require_client_cert:
                raise ValueError(
                    f"{name} needs OKEY_TLS_REQUIRE_CLIENT_CERT=true: without it no caller shows "
                    "a certificate"
                )
        return self

    def _refuse_services_without_certificates(self) -> None:
        has_certificates = self.tls_cert_file is None or self.tls_require_client_cert
        if self.takes_service_calls and not has_certificates:
            raise ValueError(
                "OKEY_TLS_CERT_FILE without OKEY_TLS_REQUIRE_CLIENT_CERT=true: over TLS a token's "
                "role of a service counts only with that service's certificate, so no service "
                "could call this one; require certificates, and name them in OKEY_TLS_ROLES"
            )
        if self.tls_edge_name and self.tls_edge_name in parse_roles(self.tls_roles):
            raise ValueError(
                f"OKEY_TLS_ROLES gives {self.tls_edge_name!r} roles, which OKEY_TLS_EDGE_NAME says "
                "is the edge: the edge passes on the calls of others and has none"
            )

    @field_validator("tls_roles")
    @classmethod
    def _roles_can_be_read(cls, text: str) -> str:
        parse_roles(text)
        return text

    @model_validator(mode="after")
    def _only_tests_have_failpoints(self) -> Self:
        if self.failpoint and self.environment is not Environment.TEST:
            raise ValueError(
                "OKEY_FAILPOINT is for tests: leave it out, or set OKEY_ENVIRONMENT=test"
            )
        return self

    @property
    def reflection_policy(self) -> Reflection:
        """Who may ask for the list of methods."""
        if self.reflection is not None:
            return self.reflection
        return Reflection.CALLERS if self.is_production else Reflection.OPEN

    @property
    def migrates_itself(self) -> bool:
        """Whether the service migrates its database, or only checks that somebody has."""
        return not self.is_production if self.migrates is None else self.migrates


def refuse_in_production(*fields: str) -> Callable[[ServiceSettings], ServiceSettings]:
    """A check for settings that exist for tests only: production starts only while each keeps its
    default.

    Use it in a subclass as ``_test_only =
    model_validator(mode="after")(refuse_in_production("time_scale"))``.
    """

    def check(settings: ServiceSettings) -> ServiceSettings:
        for name in fields:
            default = type(settings).model_fields[name].default
            if settings.is_production and getattr(settings, name) != default:
                raise ValueError(
                    f"OKEY_{name.upper()} is for tests only and production refuses it: "
                    f"leave it out (its default is {default!r})"
                )
        return settings

    return check
