"""What production refuses to start with; docs/security.md lists each refusal with its message.

A cluster may need one of the things that ``Unsafe`` names, such as plaintext below a mesh. It names
them in ``OKEY_ALLOW_UNSAFE``, and the service warns of each at its start. Nothing else is
negotiable.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, Self

from pydantic import SecretStr, model_validator
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from okey_runtime.environment import EnvironmentSettings
from okey_runtime.logging import get_logger
from okey_runtime.sqlite import held_alone
from okey_runtime.tls import is_loopback

MOST_SKEW_MS: Final = 300_000
"""The most that clocks may differ in production."""

_ENCRYPTED: Final = frozenset({"require", "verify-ca", "verify-full"})
_KNOWN_PASSWORDS: Final = frozenset(
    {
        "123456", "12345678", "admin", "change-me", "changeme", "default", "dev", "dev-only",
        "example", "guest", "letmein", "master", "okey", "passw0rd", "password", "postgres",
        "qwerty", "redis", "root", "secret", "test", "user", "valkey",
    }
)  # fmt: skip


_log = get_logger(__name__)


class Environment(StrEnum):
    """Where a service runs; test-only settings work everywhere but in production."""

    STANDALONE = "standalone"
    PRODUCTION = "production"
    TEST = "test"


class Unsafe(StrEnum):
    """What ``OKEY_ALLOW_UNSAFE`` may allow in production."""

    KNOWN_PASSWORDS = "known-passwords"
    PLAINTEXT_STORES = "plaintext-stores"
    SQLITE = "sqlite"
    UNSEALED_LEDGER = "unsealed-ledger"


class AllowanceUnknown(ValueError):
    """``OKEY_ALLOW_UNSAFE`` names what cannot be allowed."""


class GuardedSettings(EnvironmentSettings):
    """Settings of a process that opens stores; production refuses those that are unsafe."""

    environment: Environment = Environment.PRODUCTION
    allow_unsafe: str = ""
    """What production would refuse and this cluster needs, with commas; see ``Unsafe``."""

    @property
    def is_production(self) -> bool:
        """Whether test-only settings, development keys and what is unsafe are refused."""
        return self.environment is Environment.PRODUCTION

    def unsafe(self) -> Iterator[tuple[Unsafe, str]]:
        """What production refuses unless ``allow_unsafe`` names it, each with what to do."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name.endswith("_url") and isinstance(value, SecretStr):
                yield from _unsafe_store(f"OKEY_{name.upper()}", value.get_secret_value())

    def refused(self) -> Iterator[str]:
        """Why production does not start, each reason with what to do.

        Raises:
            AllowanceUnknown: ``allow_unsafe`` names what cannot be allowed.
        """
        allowed = parse_unsafe(self.allow_unsafe)
        for each, why in self.unsafe():
            if each not in allowed:
                yield f"{why}, or set OKEY_ALLOW_UNSAFE={each}"

    @model_validator(mode="after")
    def _production_is_safe(self) -> Self:
        refused = list(self.refused())
        if self.is_production and refused:
            raise ValueError("; ".join(refused))
        return self


@contextmanager
def guarded(settings: GuardedSettings, database_url: SecretStr | None) -> Iterator[None]:
    """Around production: warns of each unsafe thing it allows, and holds an SQLite file alone.

    Raises:
        SqliteInUse: another process of this machine serves the same file.
    """
    if not settings.is_production:
        yield
        return
    for allowance, why in settings.unsafe():
        _log.warning("unsafe_allowed", allowance=allowance, why=why)
    url = None if database_url is None else make_url(database_url.get_secret_value())
    if url is not None and url.get_backend_name() == "sqlite":
        with held_alone(url):
            yield
    else:
        yield


def parse_unsafe(text: str) -> frozenset[Unsafe]:
    """``plaintext-stores,sqlite`` as a set.

    Raises:
        AllowanceUnknown: a name is none of ``Unsafe``.
    """
    names = {name.strip() for name in text.split(",")} - {""}
    if unknown := sorted(names - set(Unsafe)):
        raise AllowanceUnknown(
            f"OKEY_ALLOW_UNSAFE cannot allow {', '.join(map(repr, unknown))}; "
            f"it allows {', '.join(Unsafe)}"
        )
    return frozenset(map(Unsafe, names))


def _unsafe_store(variable: str, text: str) -> Iterator[tuple[Unsafe, str]]:
    try:
        url = make_url(text)
    except ArgumentError:
        return  # what opens the store refuses it, and quotes no secret
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        yield (
            Unsafe.SQLITE,
            f"{variable} is an SQLite file, which several replicas cannot share: use PostgreSQL",
        )
    else:
        remote = sorted(host for host in _hosts(url) if not _is_local(host))
        if remote and not _is_encrypted(kind, url):
            yield (
                Unsafe.PLAINTEXT_STORES,
                f"{variable} leads to {', '.join(remote)} without TLS: {_advice(kind)}",
            )
        elif remote and kind == "rediss" and _is_unchecked(url):
            yield (
                Unsafe.PLAINTEXT_STORES,
                f"{variable} leads to {', '.join(remote)} and does not check its certificate: "
                "take ssl_cert_reqs and ssl_check_hostname away",
            )
    user = (url.username or "").lower()
    passwords = {str(each).lower() for each in (url.password, *_queried(url, "password")) if each}
    if passwords & (_KNOWN_PASSWORDS | {user}):
        yield Unsafe.KNOWN_PASSWORDS, f"{variable} has a password that everybody knows: change it"


def _hosts(url: URL) -> Iterable[str]:
    named = (host.rpartition(":")[0] or host for host in _queried(url, "host"))
    yield from filter(None, (url.host, *named))


def _queried(url: URL, name: str) -> tuple[str, ...]:
    found = url.query.get(name, ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is_unchecked(url: URL) -> bool:
    """Whether Redis would take anybody's certificate."""
    reqs = {each.lower() for each in _queried(url, "ssl_cert_reqs")}
    hostname = {each.lower() for each in _queried(url, "ssl_check_hostname")}
    return bool(reqs - {"required"} or hostname & {"", "0", "f", "false", "n", "no"})


def _is_local(host: str) -> bool:
    return host.startswith("/") or is_loopback(host)


def _is_encrypted(kind: str, url: URL) -> bool:
    if kind == "postgresql":
        return url.query.get("ssl") in _ENCRYPTED
    return kind == "rediss"


def _advice(kind: str) -> str:
    return "write rediss://" if kind == "redis" else "add ?ssl=verify-full"
