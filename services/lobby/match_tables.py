"""Tables as quick match needs them, and every answer that it can get about a seat.

``EngineSeats`` asks the engine; the tests have one in memory that passes the same contract suite.
Every call may be repeated: the same group asks for a player's seat once, however often it says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.lobby.engine_tables import Sitting
from services.lobby.terms import Terms


@dataclass(frozen=True, slots=True)
class Sits:
    """The player has the seat; ``is_paid`` once the wallet holds the stake (M1)."""

    table_id: str
    seat: int
    is_paid: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The player was refused, and waiting does not help, as with too few chips."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoRoom:
    """The table or the engine takes nobody there right now; the player can do nothing for it.

    ``is_for_good`` where this player gets no seat at this table any more. ``is_engine`` where the
    engine has too much to do, so that asking on would make it worse.
    """

    reason: str
    is_for_good: bool = False
    is_engine: bool = False


@dataclass(frozen=True, slots=True)
class SitsElsewhere:
    """The player sits already: one seat a player (W3)."""

    table_id: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer: the seat may have been taken all the same, and the same question tells."""

    why: str


SeatAnswer = Sits | Refused | NoRoom | SitsElsewhere | Unknown


@dataclass(frozen=True, slots=True)
class Chair:
    """A taken seat of a table; no ``player`` where a bot has it. ``is_paid`` unless the wallet is
    still being asked for the stake.
    """

    seat: int
    player: str
    is_paid: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A table at one moment: who sits where, and whether others may sit down."""

    chairs: tuple[Chair, ...]
    is_open: bool

    def chair_of(self, player: str) -> Chair | None:
        """Where the player sits."""
        return next((chair for chair in self.chairs if chair.player == player), None)


class MatchTables(Protocol):
    """Opening tables, sitting down and leaving, for players whom the lobby names."""

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        """Make a table whose seat 0 the player takes (W1), and wait a moment for the wallet."""
        ...

    async def take(
        self, table_id: str, request_id: str, player: str, name: str, seat: int
    ) -> SeatAnswer:
        """Sit the player down on that seat."""
        ...

    async def leave(self, table_id: str, request_id: str, player: str) -> Sits | Unknown | None:
        """Free the player's seat (W2), and a table without people is closed by that; None once the
        player does not sit there, ``Sits`` where a match runs and it stays, else ``Unknown``.
        """
        ...

    async def seat_of(self, player: str) -> Sitting | Unknown | None:
        """Where the player sits, at whatever table, also a private one; None if nowhere (W3)."""
        ...

    async def look(self, table_id: str) -> Look | Unknown | None:
        """The table as it is now, None if it is closed or was never there."""
        ...


def players_of(chairs: Sequence[Chair]) -> list[str]:
    """The people among them."""
    return [chair.player for chair in chairs if chair.player]
