"""Settings of a service, read from ``OKEY_*`` variables and, for secrets, from files.

A service subclasses ``ServiceSettings`` with its own fields and calls ``load()``. The environment
is ``production`` unless something says otherwise, so that a forgotten variable makes a service
stricter, never laxer.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

DEV_ISSUER = "okey-standalone-dev"
"""Issuer of the tokens that standalone signs with its own random key; production refuses it."""

DEFAULT_AUDIENCE = "okey"

SECRETS_DIR_VARIABLE = "OKEY_SECRETS_DIR"


class Environment(StrEnum):
    """Where a service runs; test-only settings work everywhere but in production."""

    STANDALONE = "standalone"
    PRODUCTION = "production"
    TEST = "test"


class LogFormat(StrEnum):
    """How a log line looks: one JSON object, or text for a person."""

    JSON = "json"
    CONSOLE = "console"


class ServiceSettings(BaseSettings):
    """What every service needs to know before it starts; port 0 means any free port."""

    model_config = SettingsConfigDict(
        env_prefix="OKEY_", extra="ignore", frozen=True, hide_input_in_errors=True
    )

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

    database_url: SecretStr | None = None
    redis_url: SecretStr | None = None

    jwks_file: Path | None = None
    token_issuer: str = DEV_ISSUER
    token_audience: str = DEFAULT_AUDIENCE
    token_skew_ms: int = Field(default=30_000, ge=0)
    service_token_file: Path | None = None

    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    log_format: LogFormat = LogFormat.JSON

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
        """Read the environment and, where ``OKEY_SECRETS_DIR`` names a folder, one file a secret
        (``okey_database_url``).

        Raises:
            pydantic.ValidationError: a value is malformed or not allowed here; secrets are not
            quoted.
        """
        secrets_dir = os.environ.get(SECRETS_DIR_VARIABLE)
        return cls(_secrets_dir=secrets_dir) if secrets_dir else cls()

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
    def _only_tests_have_failpoints(self) -> Self:
        if self.failpoint and self.environment is not Environment.TEST:
            raise ValueError(
                "OKEY_FAILPOINT is for tests: leave it out, or set OKEY_ENVIRONMENT=test"
            )
        return self

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
