"""A quick-match ticket: one player's wish for a match, and where it stands."""

from dataclasses import dataclass
from enum import StrEnum

from okey.errors import AlreadyExists, NotFound, Refused
from services.lobby.terms import Terms


class TicketState(StrEnum):
    """Where a ticket stands; the values are those stored in Redis."""

    WAITING = "WAITING"
    SEATING = "SEATING"
    SEATED = "SEATED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    DROPPED = "DROPPED"

    @property
    def is_live(self) -> bool:
        """Whether the ticket may still become a seat; a player has at most one such ticket."""
        return self in (TicketState.WAITING, TicketState.SEATING)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket as its player may see it; times are milliseconds since the epoch.

    ``table_id`` and ``seat`` count when it is SEATED, ``reason`` when it is DROPPED.
    ``waiting_count`` is the number of waiting tickets with the same terms.
    """

    ticket_id: str
    terms: Terms
    state: TicketState
    enqueued_ms: int
    table_id: str = ""
    seat: int = 0
    reason: str = ""
    waiting_count: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A ticket that a replica has taken off the queue to seat its player, until ``until_ms``."""

    ticket_id: str
    player: str
    display_name: str
    until_ms: int


class TicketExists(AlreadyExists):
    """The player has a live ticket with other terms."""

    reason = "TICKET_EXISTS"


class TicketNotFound(NotFound):
    """The player has no ticket."""

    reason = "TICKET_NOT_FOUND"


class TicketBeingSeated(Refused):
    """The ticket has found its match and can no longer be taken back."""

    reason = "TICKET_BEING_SEATED"
