"""Settings of a service, read from ``OKEY_*`` variables and, for secrets, from files.

A service subclasses ``ServiceSettings`` with its own fields; its ``__main__`` calls ``load()``. The
environment is ``production`` unless something says otherwise, so that a forgotten variable makes a
service stricter, never laxer.
"""

import os
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, Self, get_args

from pydantic import (
    Field,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from okey_runtime.dialling import DialSettings
from okey_runtime.logging import LogFormat, configure_logging, get_logger
from okey_runtime.tls import is_loopback
from okey_runtime.tls_roles import parse_roles

DEV_ISSUER = "okey-standalone-dev"
"""Issuer of the tokens that standalone signs with its own random key; production refuses it."""

DEFAULT_AUDIENCE = "okey"

SECRETS_DIR_VARIABLE = "OKEY_SECRETS_DIR"

UNUSABLE_SETTINGS: Final = 2
"""Exit status of a service whose settings cannot be used."""

_PREFIX: Final = "OKEY_"
_BOUNDS: Final = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


class Environment(StrEnum):
    """Where a service runs; test-only settings work everywhere but in production."""

    STANDALONE = "standalone"
    PRODUCTION = "production"
    TEST = "test"


class Reflection(StrEnum):
    """Who is told by gRPC reflection which methods there are."""

    OPEN = "open"
    CALLERS = "callers"
    OFF = "off"


class SettingsRefused(Exception):
    """The environment cannot be used; the message names each variable, its value (a secret's not)
    and what is allowed.
    """


class ServiceSettings(DialSettings):
    """What every service needs to know before it starts; port 0 means any free port."""

    environment: Environment = Environment.PRODUCTION

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
    """Which DNS name of a caller's certificate has which roles, where a call has no token:
    ``lobby.okey=lobby,ops.okey=operator``."""
    reflection: Reflection | None = None
    """Who may ask for the list of methods; by default callers with a role in production, everybody
    elsewhere."""

    database_url: SecretStr | None = None
    redis_url: SecretStr | None = None

    jwks_file: Path | None = None
    token_issuer: str = DEV_ISSUER
    token_audience: str = DEFAULT_AUDIENCE
    token_skew_ms: int = Field(default=30_000, ge=0)
    service_token_file: Path | None = None

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    log_format: LogFormat = LogFormat.JSON
    audit_file: Path | None = None
    """Where the trail of operators' calls is written beside the log, one JSON object a line."""

    calls_per_s: PositiveInt = 50
    """How many calls of one RPC, or messages of its streams, a player may make in a second."""
    calls_burst: PositiveInt = 200
    """How many of them may come at once after a pause."""
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
    max_message_bytes: PositiveInt = 1 << 20
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

    @classmethod
    def load(cls) -> Self:
        """``read`` for the ``__main__`` of a service: settings that cannot be used are logged in
        one line and end the process with ``UNUSABLE_SETTINGS``.
        """
        try:
            return cls.read()
        except SettingsRefused as error:
            form = os.environ.get(f"{_PREFIX}LOG_FORMAT")
            configure_logging(
                _main_module(),
                form=LogFormat.CONSOLE if form == LogFormat.CONSOLE else LogFormat.JSON,
            )
            get_logger(__name__).critical("settings_refused", error=str(error))
            raise SystemExit(UNUSABLE_SETTINGS) from error

    @classmethod
    def read(cls) -> Self:
        """Read the environment and, where ``OKEY_SECRETS_DIR`` names a folder, one file a secret
        (``okey_database_url``).

        Raises:
            SettingsRefused: a value is missing, malformed or not allowed here.
        """
        secrets_dir = os.environ.get(SECRETS_DIR_VARIABLE)
        try:
            return cls(_secrets_dir=secrets_dir) if secrets_dir else cls()
        except ValidationError as error:
            raise SettingsRefused("; ".join(_told(cls, each) for each in error.errors())) from error

    @model_validator(mode="after")
    def _production_trusts_only_real_keys(self) -> Self:
        if self.environment is not Environment.PRODUCTION:
            return self
        if self.jwks_file is None:
            raise ValueError(
                "production does not start without OKEY_JWKS_FILE: name the issuer's key file"
            )
        if self.token_issuer == DEV_ISSUER:
            raise ValueError(
                f"production refuses the development issuer {DEV_ISSUER!r}: "
                "set OKEY_TOKEN_ISSUER to the real one"
            )
        return self

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
        if self.tls_roles and not self.tls_require_client_cert:
            raise ValueError(
                "OKEY_TLS_ROLES needs OKEY_TLS_REQUIRE_CLIENT_CERT=true: without it no caller "
                "shows a certificate"
            )
        return self

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
    def is_production(self) -> bool:
        """Whether test-only settings and development keys are refused."""
        return self.environment is Environment.PRODUCTION


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


def _told(settings: type[ServiceSettings], error: ErrorDetails) -> str:
    """What is wrong with one variable, in the words of whoever sets it."""
    if not error["loc"]:
        return error["msg"].removeprefix("Value error, ")
    name = str(error["loc"][0])
    variable = f"{_PREFIX}{name.upper()}"
    if error["type"] == "missing":
        return f"{variable} is not set, and there is no default"
    field = settings.model_fields[name]
    is_secret = SecretStr in (field.annotation, *get_args(field.annotation))
    found = "a secret that cannot be used" if is_secret else repr(error["input"])
    bounds = [
        f"{word} {bound}"
        for each in field.metadata
        for key, word in _BOUNDS.items()
        if (bound := getattr(each, key, None)) is not None
    ]
    allowed = f" ({', '.join(bounds)})" if bounds else ""
    return f"{variable} is {found}: {re.sub('^(Input|String)', 'it', error['msg'])}{allowed}"


def _main_module() -> str:
    """The package that was started with ``python -m``, as ``services.wallet``."""
    spec = sys.modules["__main__"].__spec__
    return spec.parent or spec.name if spec is not None else "okey"
