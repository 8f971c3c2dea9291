"""Who calls by the certificate of its connection: services and operators without a token.

Only names of a certificate that the trusted authorities have signed count, and only its DNS names.
A certificate is never a player: a gateway's connection carries many of them, each with a token.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from cryptography import x509

from okey_runtime.auth import TokenExpired
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity, Role
from okey_runtime.origin import Connection

_MOST_KEPT: Final = 1_000


class Peers:
    """Callers by their certificates; ``roles`` says what each DNS name may."""

    def __init__(self, roles: Mapping[str, frozenset[Role]], clock: Clock) -> None:
        self._roles = roles
        self._clock = clock
        self._known: OrderedDict[bytes, Identity | None] = OrderedDict()

    def identify(self, connection: Connection) -> Identity | None:
        """The caller, None where its connection shows no certificate that has roles.

        Raises:
            TokenExpired: the certificate has ended since the connection was made.
        """
        if not self._roles:
            return None
        [pem, *_] = connection.auth_context().get("x509_pem_cert") or [b""]
        if not pem:
            return None
        if pem not in self._known:
            self._known[pem] = self._read(pem)
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        identity = self._known[pem]
        if identity is not None and self._clock.now_ms() >= identity.expires_ms:
            raise TokenExpired("the connection's certificate has ended: connect with a new one")
        return identity

    def _read(self, pem: bytes) -> Identity | None:
        certificate = x509.load_pem_x509_certificate(pem)
        try:
            names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return None
        for name in names.value.get_values_for_type(x509.DNSName):
            if name in self._roles:
                ends_ms = int(certificate.not_valid_after_utc.timestamp() * 1000)
                return Identity(name, self._roles[name], "", ends_ms)
        return None
