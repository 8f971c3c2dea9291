"""Who calls: roles, a verified caller, and the caller of the RPC being served."""

import re
import unicodedata
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from okey.errors import InvalidInput, quoted

SUBJECT_PATTERN = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")
"""What a token subject, and so a player id, looks like."""

_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Fillers that Unicode counts as letters or symbols, though nothing is seen of them."""


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
    IDENTITY = "identity"
    """The identity provider: it revokes the tokens that it has issued."""
    GATEWAY = "gateway"
    """A gateway in its own name: it follows the list of revoked tokens, and nothing else."""


SERVICE_ROLES: Final = frozenset({Role.LOBBY, Role.ENGINE, Role.WALLET, Role.RATING, Role.BOTS})
"""What a service is to the others that it calls."""

_RESERVED_NAMES: Final = SERVICE_ROLES | {Role.GATEWAY, Role.IDENTITY}
_RESERVED: Final = re.compile(r"(house|system|bots?|player|escrow|pot|kasa):.*", re.DOTALL)


def is_reserved(subject: str) -> bool:
    """Whether the id is the house's, a service's or an account's name, and so never a player's."""
    return subject in _RESERVED_NAMES or _RESERVED.fullmatch(subject) is not None


def refuse_reserved(player_id: str) -> None:
    """Return if the id can be a player's. Raises ``PlayerReserved``."""
    if is_reserved(player_id):
        raise PlayerReserved(
            f"{quoted(player_id)} is an id of the house or a service, or an account's name, and no "
            "player's: name a player"
        )


class PlayerReserved(InvalidInput):
    """The id is the house's, a service's or an account's name, and no player's."""

    reason = "PLAYER_RESERVED"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller whose token or certificate has been verified.

    ``name`` is fit to be shown (see ``display_name``), "" for none. ``expires_ms``, since the
    epoch, is when the token is no longer taken, by calls and by open streams alike: its ``exp`` and
    the allowed skew of clocks. ``issued_ms`` is its ``iat``; ``token_id`` its ``jti`` and
    ``session_id`` its ``sid``, "" for none. A certificate has none of the three.
    ``has_token`` says that a token named the caller: a certificate alone may be shared by several
    people, so it proves nobody to be another person.
    """

    subject: str
    roles: frozenset[Role]
    name: str
    expires_ms: int
    issued_ms: int = 0
    token_id: str = ""
    session_id: str = ""
    has_token: bool = False

    @property
    def player(self) -> str:
        """The player who calls, and so may own a seat; "" where the caller is none, whatever its
        subject is called.
        """
        return self.subject if Role.PLAYER in self.roles else ""

    @property
    def payer(self) -> str:
        """Whose budget pays for its calls; "" for services and operators, which are ours.

        No player has an id with a space, so no player can spend an integrator's budget.
        """
        if self.player:
            return self.player
        return f"integrator {self.subject}" if self.roles == {Role.INTEGRATOR} else ""

    def has_any(self, roles: frozenset[Role]) -> bool:
        """Whether the caller holds at least one of the roles."""
        return not self.roles.isdisjoint(roles)


def display_name(text: str) -> str:
    """The name as it may be shown to others: in one line, and without what steers a terminal or
    turns the direction of text.

    Control and format characters, surrogates and unassigned ones are dropped, white space becomes
    single spaces within; "" where nothing visible is left.
    """
    kept = "".join(character for character in text if _is_kept(character))
    name = " ".join(kept.split())
    return name if any(unicodedata.category(each)[0] in "LNPS" for each in name) else ""


def _is_kept(character: str) -> bool:
    if character.isspace():
        return True  # ends of lines and paragraphs too: they part words, and become spaces
    return unicodedata.category(character)[0] != "C" and character not in _BLANK_LETTERS


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
