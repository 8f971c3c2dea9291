"""Whom a token is for, and which roles it may grant there: one stolen token opens one door.

``okey`` is for players and integrators, on every service. A role of a service, and an operator's,
counts only in a token whose one audience is the service that is called: ``okey-wallet``. Engines
call each other with ``okey-peer``, which grants nothing but the role ``engine``, at engines.
"""

from collections.abc import Collection
from typing import Final

from okey_runtime.errors import TokenInvalid
from okey_runtime.identity import Role
from okey_runtime.logging import get_logger

DEFAULT_AUDIENCE: Final = "okey"

PEER: Final = "peer"
"""Whom an engine calls when it calls another engine."""

PUBLIC_ROLES: Final = frozenset({Role.PLAYER, Role.INTEGRATOR})
"""What tokens for all services grant; every other role needs the callee's own audience."""

_PRIVATE_ROLES: Final = frozenset(Role) - PUBLIC_ROLES
_ENGINE: Final = "engine"
_MOST_SHOWN_CHARS: Final = 80

_log = get_logger(__name__)


class WrongAudience(TokenInvalid):
    """The token is for somebody else, or its audience grants none of its roles here."""

    reason = "WRONG_AUDIENCE"


def audience_for(callee: str = "", public: str = DEFAULT_AUDIENCE) -> str:
    """The audience of a token that is shown to ``callee``: a service, or ``PEER``; without one,
    that of players and integrators.
    """
    return f"{public}-{callee}" if callee else public


class Audiences:
    """The audiences that a callee takes, and the roles that each of them may grant.

    ``services`` is what the callee is; ``takes_old`` lets the public audience grant every role, as
    it did in the release before.
    """

    def __init__(
        self,
        services: Collection[str] = (),
        public: str = DEFAULT_AUDIENCE,
        *,
        takes_old: bool = False,
    ) -> None:
        self._public = public
        self._takes_old = takes_old
        self._grants = {public: frozenset(Role) if takes_old else PUBLIC_ROLES}
        for service in services:
            is_engine = service == _ENGINE
            # Engines call each other by an audience of its own, so that no other one opens peers.
            own = _PRIVATE_ROLES - {Role.ENGINE} if is_engine else _PRIVATE_ROLES
            self._grants[audience_for(service, public)] = own
            if is_engine:
                self._grants[audience_for(PEER, public)] = frozenset({Role.ENGINE})

    def granted(self, audience: object, roles: frozenset[Role], subject: str) -> frozenset[Role]:
        """Those of a token's roles that its ``aud`` claim may grant here.

        Raises ``WrongAudience``: it is for others, or it grants none of the roles.
        """
        named = [audience] if isinstance(audience, str) else audience
        if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
            raise TokenInvalid("the token's 'aud' must be a name or a list of names")
        # With others beside it only the public one counts: each of them could show the token here.
        chosen = named[0] if len(named) == 1 else self._public
        if chosen not in self._grants or chosen not in named:
            raise WrongAudience(f"the token is for {_shown(named)}; {self._taken()}")
        granted = roles & self._grants[chosen]
        if roles and not granted:
            asked = ", ".join(sorted(roles))
            raise WrongAudience(
                f"a token for {_shown(named)} does not grant {asked} here; {self._taken()}"
            )
        if chosen == self._public and not granted <= PUBLIC_ROLES:
            _log.warning(
                "token_of_the_old_audience",
                subject=subject,
                roles=sorted(granted - PUBLIC_ROLES),
                why="OKEY_TOKEN_OLD_AUDIENCE is set; the next release takes no such token",
            )
        return granted

    def _taken(self) -> str:
        taken = (
            f"{name}{' alone' if name != self._public else ''} ({_told(roles)})"
            for name, roles in self._grants.items()
        )
        return f"taken here: {'; '.join(taken)}"


def _told(roles: frozenset[Role]) -> str:
    return "every role" if roles == frozenset(Role) else ", ".join(sorted(roles))


def _shown(named: list[str]) -> str:
    text = ", ".join(named) or "nobody"
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"
