"""What a connection's certificate says of who calls: beside a token, and instead of one.

A token's role of a service counts only over a connection whose certificate has that very role, so a
token that was taken from elsewhere opens nothing. Where no token comes, the certificate alone may
say who calls. Only names of a certificate that the trusted authorities have signed count, and only
its DNS names. A certificate is never a player: a gateway's connection carries many of them, each
with a token.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from cryptography import x509

from okey_runtime.audiences import PUBLIC_ROLES
from okey_runtime.auth import TokenExpired
from okey_runtime.clock import Clock
from okey_runtime.errors import Unauthenticated
from okey_runtime.identity import SERVICE_ROLES, Identity, Role
from okey_runtime.origin import Connection, certificate_names

_MOST_KEPT: Final = 1_000


class CertificateMismatch(Unauthenticated):
    """The token is good, and came over a connection whose certificate does not have its role."""

    reason = "CERTIFICATE_MISMATCH"


class Peers:
    """Callers by their certificates; ``roles`` says what each DNS name may.

    ``is_encrypted`` says whether connections have TLS at all: then every service's role is bound to
    a certificate, and an operator's or an identity provider's as soon as ``roles`` names a
    certificate of theirs.
    ``takes_alone`` lets a certificate with roles call without a token. Over a certificate with the
    role ``forwarder`` others' tokens are taken: it has checked them before it passed them on.
    """

    def __init__(
        self,
        roles: Mapping[str, frozenset[Role]],
        clock: Clock,
        *,
        is_encrypted: bool = True,
        takes_alone: bool = True,
        forwarder: Role | None = None,
    ) -> None:
        self._roles = roles
        self._clock = clock
        self._takes_alone = takes_alone
        self._forwarder = forwarder
        named = frozenset[Role]().union(*roles.values())
        bound = (SERVICE_ROLES | {Role.GATEWAY} | named) - PUBLIC_ROLES
        self._bound = bound if is_encrypted else frozenset[Role]()
        self._known: OrderedDict[bytes, Identity | None] = OrderedDict()

    def identify(self, connection: Connection) -> Identity | None:
        """The caller without a token, None where its connection shows no certificate that has
        roles.

        Raises:
            TokenExpired: the certificate has ended since the connection was made.
        """
        return self._holder(connection) if self._takes_alone else None

    def confirm(self, caller: Identity, connection: Connection) -> None:
        """Return if the connection's certificate bears out the roles of the caller's token.

        Raises:
            CertificateMismatch: it has not the role of a service, or of an operator, that the token
                has.
            TokenExpired: the certificate has ended since the connection was made.
        """
        bound = caller.roles & self._bound
        if not bound:
            return
        holder = self._holder(connection)
        held = holder.roles if holder is not None else frozenset[Role]()
        if bound <= held or self._forwarder in held:
            return
        shown = ", ".join(certificate_names(connection)) or "none with a DNS name"
        raise CertificateMismatch(
            f"the token's role {', '.join(sorted(bound - held))} counts only with a certificate of "
            f"that role (OKEY_TLS_ROLES); this connection's certificate is {shown}"
        )

    def _holder(self, connection: Connection) -> Identity | None:
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
