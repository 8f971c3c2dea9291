"""Who calls: roles, a verified caller, and the caller of the RPC being served."""

import re
import unicodedata
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from okey.errors import InvalidInput, quoted
from okey_runtime.errors import FieldViolation, InvalidField

SUBJECT_PATTERN = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")
"""What a token subject, and so a player id, looks like."""

_UNSEEN: Final = re.compile(r"\b(FILLER|BLANK)\b")
"""In the names of letters of which nothing is seen: the Hangul fillers, blank hieroglyphs."""
_MOST_MARKS: Final = 4
"""On one character; living scripts need three at most, and a stack of more covers other lines."""


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


class NameUnfit(InvalidField):
    """A name cannot be shown; metadata ``character`` names the character that is refused."""

    def __init__(self, character: str, why: str) -> None:
        self._character = _named(character)
        super().__init__((FieldViolation("name", f"{self._character} {why}".strip()),))

    @property
    def metadata(self) -> Mapping[str, str]:
        """The character, if it is one that is refused."""
        return {"character": self._character} if self._character else {}


def display_name(text: str) -> str:
    """The name as it may be shown to others: in one line, and without what steers a terminal,
    turns the direction of text or covers other lines.

    Control and format characters, surrogates and unassigned ones are dropped, and so are marks
    beyond the fourth on one character or on none. White space becomes single spaces within; ""
    where no letter or number is left that can be seen.
    """
    name = _without_stacks(_one_line(text))
    return name if any(map(_is_seen, name)) else ""


def fit_name(text: str, most_chars: int) -> str:
    """The name that somebody chose, as it is shown; what is longer is cut.

    What steers goes without a word, since keyboards and messengers put it in.

    Raises:
        NameUnfit: it has no letter and no number that can be seen, or stacks of marks.
    """
    line = _one_line(text)[:most_chars].strip()
    kept = _without_stacks(line)
    if len(kept) < len(line):
        first = next((at for at, each in enumerate(kept) if each != line[at]), len(kept))
        why = f"is one mark too many: a character carries at most {_MOST_MARKS}, and a space none"
        raise NameUnfit(line[first], why)
    if not any(map(_is_seen, kept)):
        blank = (kept or text.strip())[:1]
        why = "is no letter or number that can be seen, and the name has none: type at least one"
        raise NameUnfit(blank, why if blank else "is empty: type at least one letter or number")
    return kept


def _one_line(text: str) -> str:
    """Without what steers; ends of lines and paragraphs part words too, and become spaces."""
    kept = (each for each in text if each.isspace() or unicodedata.category(each)[0] != "C")
    return " ".join("".join(kept).split())


def _without_stacks(text: str) -> str:
    """Without marks beyond the fourth on one character, and those on a space or on nothing."""
    kept, room = [], 0
    for each in text:
        is_mark = unicodedata.category(each) in ("Mn", "Me")
        if not is_mark:
            room = 0 if each.isspace() else _MOST_MARKS
        elif room:
            room -= 1
        else:
            continue
        kept.append(each)
    return "".join(kept)


def _is_seen(character: str) -> bool:
    """Whether it is a letter or a number, and not a blank one."""
    is_letter = unicodedata.category(character)[0] in "LN"
    return is_letter and not _UNSEEN.search(unicodedata.name(character, ""))


def _named(character: str) -> str:
    """A character as people can look it up, such as ``U+0041 LATIN CAPITAL LETTER A``."""
    if not character:
        return ""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


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
