"""Whom a service trusts, as its settings say (keys, audiences, certificates), and the tokens by
which it is known itself.
"""

from collections.abc import Sequence
from typing import Final

from okey_runtime.audiences import Audiences
from okey_runtime.auth import JwksFile, TokenVerifier
from okey_runtime.bad_tokens import BadTokens
from okey_runtime.clock import Clock
from okey_runtime.config import ServiceSettings
from okey_runtime.connections import Connections
from okey_runtime.identity import Role
from okey_runtime.own_tokens import OwnTokens
from okey_runtime.peers import Peers
from okey_runtime.revocation import Revocations
from okey_runtime.served import Callers
from okey_runtime.status import Status
from okey_runtime.tls_roles import parse_roles

_ENGINE: Final = "engine"


class JwksMissing(Exception):
    """No JWKS file is configured, so nobody could be told from anybody; set OKEY_JWKS_FILE."""


class Trust:
    """What one service trusts; ``names`` are the services that it is to its callers.

    Raises ``JwksMissing``, ``KeyFileBroken``.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        names: Sequence[str],
        clock: Clock,
        status: Status,
        revocations: Revocations,
    ) -> None:
        if settings.jwks_file is None:
            raise JwksMissing(
                "no key to check tokens with: set OKEY_JWKS_FILE to the issuer's JWKS file"
            )
        keys = JwksFile(settings.jwks_file, allows_dev_key=not settings.is_production)
        self._settings = settings
        self._names = names
        self._clock = clock
        self.verifier: Final = TokenVerifier(
            keys,
            issuer=settings.token_issuer,
            audiences=Audiences(
                names, settings.token_audience, takes_old=settings.token_old_audience
            ),
            skew_ms=settings.token_skew_ms,
            clock=clock,
            player_max_life_ms=settings.player_token_max_life_ms,
            revocations=revocations,
        )
        self.tokens: Final = OwnTokens(settings, keys, clock, status)
        status.fact("issuer", lambda: settings.token_issuer)
        status.fact("audience", lambda: settings.token_audience)
        status.fact("keys", lambda: ", ".join(keys.key_ids))

    def callers(self, connections: Connections) -> Callers:
        """What tells who calls, and over which of the connections."""
        settings = self._settings
        return Callers(
            self.verifier,
            Peers(
                parse_roles(settings.tls_roles),
                self._clock,
                is_encrypted=settings.tls_cert_file is not None,
                takes_alone=settings.tls_roles_alone,
                # Engines pass calls about each other's tables on, with the caller's own token.
                forwarder=Role.ENGINE if _ENGINE in self._names else None,
            ),
            BadTokens(
                settings.bad_tokens_per_s,
                settings.bad_tokens_burst,
                self._clock,
                self.verifier.remembers,
            ),
            settings.tls_edge_name,
            connections,
        )
