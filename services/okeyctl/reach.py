"""How a command reaches a service: this machine's own platform, or a named address with a token."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from okey_runtime.audiences import PEER, audience_for
from okey_runtime.auth import Role, load_signing_key, mint
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.dev_platform import DevPlatform, PlatformNotRunning, dev_key_file
from okey_runtime.dialling import DialSettings
from okey_runtime.own_tokens import token_file
from okey_runtime.service_token import MetadataProvider, ServiceToken, fixed_token
from okey_runtime.tls import ClientTls, Plaintext, Security

_SUBJECT: Final = "okeyctl"
_OLD_FILE: Final = "token"
CALLEES: Final = ("lobby", "engine", "wallet", "rating", "bots", "gateway", PEER)
"""Whom a token of an operator or a service may be for."""
TTL_MS: Final = 3_600_000


class TokenFileMissing(Exception):
    """An address was named, and no token for it; the message says which option to give."""


class TokenUnreadable(Exception):
    """What should be a token is none; the message says so."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a service is (``host:port``), and the metadata that shows who calls."""

    address: str
    token: MetadataProvider
    security: Security = Plaintext.ON_LOOPBACK

    def open(self) -> grpc.aio.Channel:
        """A channel to the service. Raises ``PlaintextRefused``."""
        return open_channel(self.address, token=self.token, security=self.security)


def reach(service: str, data_dir: Path, address: str | None, tokens: Path | None) -> Reach:
    """The way to a service as an operator.

    Without an address it is the platform that runs on this machine with ``data_dir``, and the
    development key signs the token. ``tokens`` is a file or a folder (``token_in``).

    Raises:
        PlatformNotRunning: none does.
        TokenFileMissing: an address was named without a token file.
        KeyFileBroken: the development key cannot be used.
        CertificateBroken: a file that an OKEY_TLS_ variable names cannot be used.
    """
    if address is None:
        platform = DevPlatform.find(data_dir)
        address = platform.address(service)
        if tokens is None:
            key = load_signing_key(platform.key_file)
            token = dev_token(key, _SUBJECT, [Role.OPERATOR], callee=service)
            return Reach(address, fixed_token(token))
    if tokens is None:
        raise TokenFileMissing(
            f"{address} is not this machine's own platform: name an operator's token with "
            "--token-file"
        )
    return Reach(address, token_in(tokens, service), security_of(service))


def token_in(place: Path, service: str) -> ServiceToken:
    """The operator's token for a service: a file, or in a folder the file named for that service,
    ``wallet.token``. The folder's ``token`` is one of the release before, for all services.
    """
    if place.is_dir():
        return ServiceToken(place / token_file(service), place / _OLD_FILE)
    return ServiceToken(place)


def security_of(service: str) -> Security:
    """How to dial a named address, by the same variables as a service's."""
    settings = DialSettings()
    security = settings.security()
    if service == "engine" and settings.tls_engine_name and isinstance(security, ClientTls):
        return security.named(settings.tls_engine_name)
    return security


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A development key, and one line that tells whose it is and in which file."""

    key: OKPKey = field(repr=False)
    origin: str


def signing_key(data_dir: Path) -> SigningKey:
    """The key of the platform that runs with ``data_dir``; where none does, this user's, with which
    the next one is going to sign.

    Raises:
        PlatformNotRunning: none does, and the user has no key; the message names the file.
        KeyFileBroken: the key cannot be used.
    """
    folder = data_dir.absolute()
    try:
        file = DevPlatform.find(data_dir).key_file
    except PlatformNotRunning as error:
        file = dev_key_file().absolute()
        if not file.exists():
            raise PlatformNotRunning(
                f"{error}; there is no development key {file} either"
            ) from error
        origin = f"signed with {file}; no platform runs with the data folder {folder}"
    else:
        origin = f"signed with {file}, the key of the platform with the data folder {folder}"
    return SigningKey(load_signing_key(file), origin)


def dev_token(
    key: OKPKey,
    subject: str,
    roles: Iterable[Role],
    name: str = "",
    ttl_ms: int = TTL_MS,
    callee: str = "",
) -> str:
    """A token of a development key, which only standalone platforms with that key take; for a
    player or an integrator, or for a service or an operator who calls ``callee``.

    Raises:
        ValueError: no subject or name looks like that.
    """
    return mint(
        key,
        subject=subject,
        roles=roles,
        now_ms=SystemClock().now_ms(),
        ttl_ms=ttl_ms,
        name=name,
        audience=audience_for(callee),
    )


def subject_of(token: str) -> str:
    """Who a token speaks for, as its claims say; whoever is called checks its signature.

    Raises:
        TokenUnreadable: it is no token.
    """
    try:
        claims = jws.extract_compact(token.encode()).payload
        subject = json.loads(claims)["sub"]
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise TokenUnreadable("that is no token: a JWT has a subject") from error
    return str(subject)
