"""Who calls: roles, a verified caller, and the caller of the RPC being served."""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

SUBJECT_PATTERN = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")
"""What a token subject, and so a player id, looks like."""


class Role(StrEnum):
    """What a token lets its holder do; each method lists the roles that may call it."""

    PLAYER = "player"
    LOBBY = "lobby"
    ENGINE = "engine"
    WALLET = "wallet"
    RATING = "rating"
    BOTS = "bots"
    OPERATOR = "operator"
    INTEGRATOR = "integrator"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller whose token has been verified; ``expires_ms`` is the end of the token, since the
    epoch.
    """

    subject: str
    roles: frozenset[Role]
    name: str
    expires_ms: int

    def has_any(self, roles: frozenset[Role]) -> bool:
        """Whether the caller holds at least one of the roles."""
        return not self.roles.isdisjoint(roles)


_current: ContextVar[Identity | None] = ContextVar("okey_identity", default=None)


def current_identity() -> Identity:
    """The caller of the RPC being served.

    Raises:
        LookupError: no authenticated RPC is being served; the method is public, or this is no
            handler.
    """
    identity = _current.get()
    if identity is None:
        raise LookupError(
            "no caller here: current_identity() works only inside an authenticated RPC"
        )
    return identity


def set_current_identity(identity: Identity | None) -> None:
    """Name the caller for the rest of the running task; the authentication interceptor calls it."""
    _current.set(identity)
