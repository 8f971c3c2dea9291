"""TLS from files that may be renewed at any time: what a server shows, and whom both sides trust.

Files are looked at when a connection is made, so a renewed certificate needs no restart. A change
that cannot be used is logged and leaves the old certificate in place.
"""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, cast

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from prometheus_client import Gauge

from okey_runtime.files import FileStamp
from okey_runtime.logging import get_logger

_READABLE_BY_ALL: Final = 0o007

EXPIRES: Final = Gauge(
    "okey_tls_certificate_expires_timestamp_seconds",
    "When the certificate in use ends, in seconds since the epoch, by its file.",
    ("file",),
)

_log = get_logger(__name__)


class CertificateBroken(Exception):
    """A certificate, its key or the trusted authorities cannot be used; the message says which file
    and why, and never quotes a key.
    """


class PlaintextRefused(Exception):
    """A connection that others could read, and nobody has said that this is wanted."""


class Plaintext(Enum):
    """Where connections without TLS are made."""

    ON_LOOPBACK = "on loopback"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class Material:
    """What the files hold now, as PEM; "" for what was not asked for."""

    certificates: bytes
    key: bytes
    authorities: bytes


class CertificateFiles:
    """A certificate with its key, and the authorities that are trusted; either may be left out.

    Raises:
        CertificateBroken: they cannot be used when the service starts.
    """

    def __init__(
        self, *, cert_file: Path | None = None, key_file: Path | None = None, ca_file: Path | None
    ) -> None:
        self._cert_file = cert_file
        self._key_file = key_file
        self._ca_file = ca_file
        self._stamps = self._stamps_now()
        self._material = self._read()

    def current(self) -> Material:
        """What is to be used for the next connection; the same object while nothing changes."""
        stamps = self._stamps_now()
        if stamps != self._stamps:
            # Noted before they are read: what changes meanwhile is seen the next time.
            self._stamps = stamps
            try:
                self._material = self._read()
            except CertificateBroken as error:
                _log.error("certificate_change_refused", error=str(error))
            else:
                _log.info("certificate_reloaded", file=str(self._cert_file or self._ca_file))
        return self._material

    def _stamps_now(self) -> tuple[FileStamp | None, ...]:
        files = (self._cert_file, self._key_file, self._ca_file)
        return tuple(None if file is None else FileStamp.of(file) for file in files)

    def _read(self) -> Material:
        certificates, key = b"", b""
        if self._cert_file is not None and self._key_file is not None:
            certificates, key = _text(self._cert_file), _key_text(self._key_file)
            _check_pair(self._cert_file, certificates, self._key_file, key)
        authorities = b"" if self._ca_file is None else _text(self._ca_file)
        if self._ca_file is not None:
            _certificates(self._ca_file, authorities)
        return Material(certificates, key, authorities)


def server_credentials(
    files: CertificateFiles, *, requires_clients_certificate: bool
) -> grpc.ServerCredentials:
    """What a server shows; with ``requires_clients_certificate`` only callers come in whose own
    certificate the trusted authorities have signed.
    """
    used = files.current()

    def renewed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal used
        now = files.current()
        if now is used:
            return None  # as it was
        used = now
        return _configuration(now)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(used),
        # gRPC takes None for "unchanged"; its types do not know.
        cast("Callable[[], grpc.ServerCertificateConfiguration]", renewed),
        requires_clients_certificate,
    )


def _configuration(material: Material) -> grpc.ServerCertificateConfiguration:
    pair = (material.key, material.certificates)
    return grpc.ssl_server_certificate_configuration([pair], material.authorities or None)


class ClientTls:
    """How servers are dialled: whom to trust, and maybe an own certificate to show.

    ``name`` is what the servers' certificates say, where it is not the name that is dialled: an
    engine is dialled by its pod's address.
    """

    def __init__(self, files: CertificateFiles, name: str = "") -> None:
        self.files: Final = files
        self.name: Final = name

    def named(self, name: str) -> "ClientTls":
        """The same for servers that have this name in their certificates."""
        return ClientTls(self.files, name)

    def credentials(self, material: Material) -> grpc.ChannelCredentials:
        """What gRPC takes."""
        return grpc.ssl_channel_credentials(
            material.authorities or None, material.key or None, material.certificates or None
        )


Security = ClientTls | Plaintext
"""How a channel is protected."""


def refuse_plaintext_beyond_loopback(target: str) -> None:
    """Return for a target whose every address is on this machine.

    Raises:
        PlaintextRefused: others could read what is sent there, tokens included.
    """
    if not all(map(is_loopback, hosts_of(target))):
        raise PlaintextRefused(
            f"{target} is not on this machine, and without TLS others could read what is sent: "
            "set OKEY_TLS_CA_FILE, or OKEY_ALLOW_PLAINTEXT=true where the network encrypts"
        )


def hosts_of(target: str) -> list[str]:
    """Each host of ``host:port``, ``dns:///host:port``, ``ipv4:host:port,host:port`` or
    ``unix:path``; a host that is a literal address stands without brackets.
    """
    scheme, _, rest = target.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return ["localhost"]
    if scheme in ("dns", "ipv4", "ipv6") and (rest.startswith("/") or ":" in rest):
        target = rest.rpartition("/")[2]
    # Only these two take several addresses; elsewhere a comma is part of a name.
    addresses = target.split(",") if scheme in ("ipv4", "ipv6") else [target]
    return [address.rpartition(":")[0].strip("[]") or address for address in addresses]


def is_loopback(host: str) -> bool:
    """Whether the host is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateBroken(f"{path} cannot be read: {error.strerror}") from error


def _key_text(path: Path) -> bytes:
    text = _text(path)
    if path.stat().st_mode & _READABLE_BY_ALL:
        raise CertificateBroken(f"{path} can be read by everybody: chmod 640 it, or less")
    return text


def _certificates(path: Path, text: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text)
    except ValueError as error:
        raise CertificateBroken(f"{path} holds no certificate in PEM") from error


def _check_pair(cert_file: Path, certificates: bytes, key_file: Path, key: bytes) -> None:
    [first, *_] = _certificates(cert_file, certificates)
    try:
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        # What the parser says might quote the key.
        raise CertificateBroken(f"{key_file} holds no private key in PEM") from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*form) != first.public_key().public_bytes(*form):
        raise CertificateBroken(f"{key_file} is not the key of the certificate in {cert_file}")
    EXPIRES.labels(str(cert_file)).set(first.not_valid_after_utc.timestamp())
