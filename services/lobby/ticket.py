"""A quick-match ticket: one player's wish for a match, and where it stands."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from okey.errors import AlreadyExists, Exhausted, NotFound, Refused, Unavailable
from okey_runtime.idempotency import ReusedKey
from services.lobby.terms import Terms


class TicketState(StrEnum):
    """Where a ticket stands; the values are those stored in Redis."""

    WAITING = "WAITING"
    AWAITING_PARTNER = "AWAITING_PARTNER"
    SEATING = "SEATING"
    SEATED = "SEATED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    DROPPED = "DROPPED"

    @property
    def is_live(self) -> bool:
        """Whether the ticket may still become a seat; a player has at most one such ticket."""
        return self in _LIVE


_LIVE: Final = (TicketState.WAITING, TicketState.AWAITING_PARTNER, TicketState.SEATING)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket as its player may see it; times are milliseconds since the epoch.

    ``table_id`` and ``seat`` count when it is SEATED, and while it is SEATING once the table is
    known; ``reason`` when it is DROPPED. ``waiting_count`` is the number of waiting tickets with
    the same terms, ``typical_wait_ms`` how long those waited that were seated lately, 0 if none
    was. ``party_code`` lets a partner in while it is AWAITING_PARTNER. ``display_name`` is kept
    while it is live.
    """

    player: str
    ticket_id: str
    terms: Terms
    state: TicketState
    enqueued_ms: int
    since_ms: int = 0
    rating_milli: int = 0
    table_id: str = ""
    seat: int = 0
    reason: str = ""
    waiting_count: int = 0
    typical_wait_ms: int = 0
    party_code: str = ""
    partner: str = ""
    house_fill_after_ms: int = 0
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a player asks for with a new ticket.

    ``party_code`` is a new one where ``opens_party``, else one that was given to the player; with
    such a one the terms are those of the party, whatever stands here.
    """

    player: str
    display_name: str
    ticket_id: str
    terms: Terms
    rating_milli: int = 0
    house_fill_after_ms: int = 0
    party_code: str = ""
    opens_party: bool = False


class TicketExists(ReusedKey, AlreadyExists):
    """The player has a live ticket with other terms."""

    reason = "TICKET_EXISTS"
    key_name = "player"

    def __init__(self, player: str, ticket_id: str, differs: Iterable[str]) -> None:
        super().__init__(
            player, f"the live ticket {ticket_id}", differs, "cancel that ticket first"
        )


class TicketNotFound(NotFound):
    """The player has no ticket."""

    reason = "TICKET_NOT_FOUND"


class TicketBeingSeated(Refused):
    """The ticket has found its match and can no longer be taken back."""

    reason = "TICKET_BEING_SEATED"


class PartyNotFound(NotFound):
    """Nobody waits for a partner under the code."""

    reason = "PARTY_NOT_FOUND"


class QuickMatchFull(Exhausted):
    """As many tickets wait as this platform takes."""

    reason = "QUICK_MATCH_FULL"


class QuickMatchUnavailable(Unavailable):
    """The store of tickets is away; tickets that were handed in are kept."""

    reason = "QUICK_MATCH_UNAVAILABLE"
