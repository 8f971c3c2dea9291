"""Events: what happened at a table, past tense, frozen, enough to rebuild its state exactly.

They hold hidden tiles and seeds: only ``okey.table.public`` shows them outside the engine, and what
is ``okey.table.hidden`` is empty or None where the key to it was lost.
"""

from dataclasses import dataclass

from okey.rules.finish import FinishKind
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table.commands import DrawSource, SealedSeed, Timer
from okey.table.config import TableConfig
from okey.table.reasons import (
    CloseReason,
    Departure,
    ForfeitReason,
    OutcomeKind,
    RoundResult,
    VacateReason,
    VoidReason,
)


@dataclass(frozen=True, slots=True)
class TableOpened:
    """The table exists; ``sealed`` is for its first round."""

    config: TableConfig
    sealed: SealedSeed
    idle_deadline_ms: int
    house_fill_deadline_ms: int


@dataclass(frozen=True, slots=True)
class SeatRequested:
    """A player sat down or plays on; the wallet is asked to hold the stake."""

    seat: int
    player: str
    hold_id: str
    idle_deadline_ms: int


@dataclass(frozen=True, slots=True)
class SeatPaid:
    """The stake of the seat is held."""

    seat: int
    hold_id: str


@dataclass(frozen=True, slots=True)
class SeatDeclined:
    """The wallet declined the stake; the seat is free again. ``reason`` is for the player alone."""

    seat: int
    player: str
    hold_id: str
    reason: str
    idle_deadline_ms: int


@dataclass(frozen=True, slots=True)
class SeatVacated:
    """A seat became free; a hold that stood (``hold_id`` not empty) is voided."""

    seat: int
    player: str
    hold_id: str
    reason: VacateReason
    idle_deadline_ms: int


@dataclass(frozen=True, slots=True)
class HouseSeated:
    """The house put a bot on the seat: for good in solo (O1), else for one match (W5)."""

    seat: int
    level: BotLevel
    is_fill: bool


@dataclass(frozen=True, slots=True)
class NonceAdded:
    """A player added to the coming shuffle; nobody sees what before the deal (T9)."""

    seat: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class CountdownStarted:
    """Every seat is paid."""

    deadline_ms: int


@dataclass(frozen=True, slots=True)
class CountdownCancelled:
    """Somebody left before the start."""


@dataclass(frozen=True, slots=True)
class MatchStartRequested:
    """The wallet is asked to start the match; ``hold_ids`` by seat, empty for a house seat."""

    match_id: str
    match_no: int
    hold_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveRequested:
    """A player left while the start was with the wallet (W2)."""

    seat: int


@dataclass(frozen=True, slots=True)
class MatchStartDeclined:
    """The wallet did not start the match."""

    match_id: str


@dataclass(frozen=True, slots=True)
class MatchStarted:
    """The stakes are in pot and kasa, in chips; ``players`` by seat, empty for a house seat."""

    match_id: str
    match_no: int
    players: tuple[str, ...]
    pot: int
    kasa: int


@dataclass(frozen=True, slots=True)
class RoundDealt:
    """The tiles are dealt; racks and nonces by seat, the stock in drawing order."""

    round_no: int
    playing: tuple[int, ...]
    dealer: int
    starter: int
    gosterge: Tile
    racks: tuple[tuple[Tile, ...], ...]
    stock: tuple[Tile, ...]
    nonces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """It is the seat's turn; turn numbers never repeat at a table (U12)."""

    seat: int
    turn: int
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class TileDrawn:
    """A tile was drawn; ``is_neutral`` says that the system did (U5)."""

    seat: int
    source: DrawSource
    tile: Tile | None
    is_neutral: bool


@dataclass(frozen=True, slots=True)
class TileDiscarded:
    """A tile was laid on the seat's own pile."""

    seat: int
    tile: Tile
    is_neutral: bool


@dataclass(frozen=True, slots=True)
class CiftAnnounced:
    """The seat plays for seven pairs (H10)."""

    seat: int


@dataclass(frozen=True, slots=True)
class CiftWithdrawn:
    """The announcement was taken back (H11)."""

    seat: int


@dataclass(frozen=True, slots=True)
class GostergeShown:
    """The seat showed the second gösterge (K3)."""

    seat: int


@dataclass(frozen=True, slots=True)
class PointsTaken:
    """Every other seat lost ``points_each`` to ``seat``; ``points`` is what all have (K2, K3)."""

    seat: int
    points_each: int
    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TurnTimedOut:
    """A person's clock ran out, for the ``count``-th time in this round (U5, U7)."""

    seat: int
    count: int


@dataclass(frozen=True, slots=True)
class StandInSeated:
    """An AI minds the seat until its player is back or ``away_deadline_ms`` has passed (U7)."""

    seat: int
    away_deadline_ms: int
    turn_deadline_ms: int


@dataclass(frozen=True, slots=True)
class PlayerReturned:
    """The player is back; ``turn_deadline_ms`` is 0 unless it is the seat's turn (U8)."""

    seat: int
    turn_deadline_ms: int


@dataclass(frozen=True, slots=True)
class SeatForfeited:
    """The seat is the house's from now on (M9, U9); ``turn_deadline_ms`` 0 unless it moves."""

    match_id: str
    seat: int
    player: str
    reason: ForfeitReason
    is_penalised: bool
    turn_deadline_ms: int


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The round is over: its seed is published, the next one is sealed (T9).

    ``seat``, ``finish`` and ``laid`` count only when ``result`` is WON (else -1 and None);
    ``racks`` are what everyone held at the end, the winner's 14 without the laid tile.
    """

    round_no: int
    result: RoundResult
    seat: int
    finish: FinishKind | None
    laid: Tile | None
    racks: tuple[tuple[Tile, ...], ...]
    revealed: bytes
    sealed: SealedSeed


@dataclass(frozen=True, slots=True)
class TieBreakStarted:
    """Several share the highest points and play on among themselves (K6)."""

    contenders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatchClaimed:
    """The last person left in the match ends it as its winner (K9); ``MatchEnded`` follows."""

    seat: int


@dataclass(frozen=True, slots=True)
class PauseStarted:
    """The next round of the match follows at the deadline (U13)."""

    deadline_ms: int


@dataclass(frozen=True, slots=True)
class MatchEnded:
    """The match is over; the wallet settles and the ratings change by it.

    ``winner`` is a seat or -1; ``finish`` is Çanak's; ``contending`` are the seats of a tie-break
    that decided (``is_tie_break``) or of a drawn match (K10); ``players`` as at the start; ``kasa``
    is what it holds after this.
    """

    match_id: str
    kind: OutcomeKind
    winner: int
    finish: FinishKind | None
    contending: tuple[int, ...]
    is_tie_break: bool
    players: tuple[str, ...]
    departures: tuple[Departure, ...]
    points: tuple[int, ...]
    kasa: int


@dataclass(frozen=True, slots=True)
class SettlementConfirmed:
    """The wallet settled the match."""

    match_id: str


@dataclass(frozen=True, slots=True)
class NachspielStarted:
    """The kasa stands: who plays on pays again before the deadline (Ç8, Ç9)."""

    deadline_ms: int
    house_fill_deadline_ms: int


@dataclass(frozen=True, slots=True)
class NachspielEnded:
    """The time to decide is over; free seats stay open until the table idles."""

    idle_deadline_ms: int


@dataclass(frozen=True, slots=True)
class MatchVoided:
    """Every stake goes back (M10); the seed that stood is published and never used (T9)."""

    match_id: str
    reason: VoidReason
    operator: str
    note: str
    revealed: bytes
    sealed: SealedSeed
    kasa: int


@dataclass(frozen=True, slots=True)
class TableTakenOver:
    """A new owner armed the clocks anew; ``sealed`` replaces a seed whose key was lost."""

    engine: str
    timers: tuple[Timer, ...]
    sealed: SealedSeed | None = None


@dataclass(frozen=True, slots=True)
class TableClosed:
    """Nothing happens here any more; who ended it and why, where an operator did."""

    reason: CloseReason
    operator: str = ""
    note: str = ""


PhaseEvent = (
    CountdownStarted
    | CountdownCancelled
    | MatchStartRequested
    | MatchStartDeclined
    | PauseStarted
    | NachspielStarted
    | NachspielEnded
    | TableClosed
)
"""What the table waits for changes."""

MatchEvent = (
    MatchStarted | TieBreakStarted | MatchEnded | MatchVoided | SettlementConfirmed | TableTakenOver
)
"""A match begins, changes or ends; or an engine takes the table."""

TurnEvent = TurnStarted | TileDrawn | TileDiscarded | CiftAnnounced | CiftWithdrawn | GostergeShown
"""What a seat does in its turn."""

RoundEvent = RoundDealt | TurnEvent | PointsTaken | TurnTimedOut | RoundEnded | MatchClaimed
"""What happens between a deal and the end of its round."""

SeatEvent = (
    SeatRequested
    | SeatPaid
    | SeatDeclined
    | SeatVacated
    | HouseSeated
    | NonceAdded
    | LeaveRequested
    | StandInSeated
    | PlayerReturned
    | SeatForfeited
)
"""Who sits where, and who plays for whom."""

Event = TableOpened | PhaseEvent | MatchEvent | RoundEvent | SeatEvent
