"""The state of a table: frozen values, rebuilt by folding ``evolve`` over its events."""

from dataclasses import dataclass
from enum import IntEnum

from okey.money.match import MatchMoney
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table.commands import SealedSeed, Timer, TimerKind
from okey.table.config import TableConfig
from okey.table.reasons import Departure


class Phase(IntEnum):
    """What a table is doing."""

    WAITING = 1  # seats are free or unpaid (W1)
    COUNTDOWN = 2  # all paid (U13)
    STARTING = 3  # the start is with the wallet (W2)
    PLAYING = 4
    PAUSE = 5  # between Klasik rounds (U13)
    SETTLING = 6  # the result is with the wallet
    NACHSPIEL = 7  # the kasa stands, people decide (Ç9)
    CLOSED = 8


class SeatStatus(IntEnum):
    """Where a seat stands with its stake."""

    FREE = 1
    REQUESTED = 2  # the wallet is asked
    PAID = 3  # held, or in the pot of the running match; house seats always
    DECIDING = 4  # after a match, not paid for the next


@dataclass(frozen=True, slots=True)
class Seat:
    """One place at the table. ``house`` is the level of the AI that owns it, None while nobody or a
    person does.

    ``away_deadline_ms`` is not 0 while a stand-in minds the seat (U7); ``departure`` counts for the
    running match.
    """

    status: SeatStatus = SeatStatus.FREE
    player: str = ""
    house: BotLevel | None = None
    hold_id: str = ""
    nonce: bytes = b""
    is_leaving: bool = False
    is_fill: bool = False
    departure: Departure = Departure.STAYED
    away_deadline_ms: int = 0

    @property
    def is_person(self) -> bool:
        """Whether a person owns the seat, present or minded by a stand-in."""
        return self.player != ""

    @property
    def gave_up(self) -> bool:
        """Whether its player of the running match left it to the house (M9, U9)."""
        return self.departure is not Departure.STAYED

    @property
    def is_ai_played(self) -> bool:
        """Whether an AI plays it now: a house seat or a stand-in's."""
        return self.house is not None or self.away_deadline_ms > 0


@dataclass(frozen=True, slots=True)
class Match:
    """The running match, from its committed start until the wallet has settled it.

    ``players`` as at the start, empty for a house seat; ``points`` by seat, empty in Çanak;
    ``contenders`` are the seats of a tie-break, else empty (K6).
    """

    match_id: str
    players: tuple[str, ...]
    points: tuple[int, ...]
    money: MatchMoney
    round_no: int = 0
    drawn_in_a_row: int = 0
    contenders: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hand:
    """What one seat did in this round: ``announced_at`` is the own turn of a standing announcement,
    else 0; ``taken`` are the tiles that it drew from its neighbour's pile and has not discarded.
    """

    rack: tuple[Tile, ...] = ()
    pile: tuple[Tile, ...] = ()
    taken: tuple[Tile, ...] = ()
    own_turns: int = 0
    timeouts: int = 0
    announced_at: int = 0
    has_shown_gosterge: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn being played; ``drawn`` is the tile that a neutral move would discard (U6).

    ``has_timed_out`` is for its player, who may have come back since (U8).
    """

    number: int
    seat: int
    deadline_ms: int
    drawn: Tile | None
    drew_from_stock: bool = False
    has_timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One deal being played; ``hands`` by table seat, empty for seats that do not play (K6)."""

    round_no: int
    playing: tuple[int, ...]
    dealer: int
    starter: int
    gosterge: Tile
    okey: Tile
    stock: tuple[Tile, ...]
    hands: tuple[Hand, ...]
    seed: bytes
    commitment: bytes
    nonces: tuple[bytes, ...]
    turn: Turn | None = None
    stockless_turns: int = 0

    def next_seat(self, seat: int) -> int:
        """The playing seat after ``seat``."""
        return self.playing[(self.playing.index(seat) + 1) % len(self.playing)]

    def previous_seat(self, seat: int) -> int:
        """The playing seat before ``seat``: the left neighbour, whose discard one may take (U1)."""
        return self.playing[self.playing.index(seat) - 1]


@dataclass(frozen=True, slots=True)
class TableState:
    """Everything about one table.

    ``sealed`` is the seed of the coming round (while a round is played: of the one after it is not
    yet known, so it is None). ``last_dealer`` is -1 before the first deal (T8).
    """

    config: TableConfig
    seats: tuple[Seat, ...]
    sealed: SealedSeed | None
    phase: Phase = Phase.WAITING
    phase_deadline_ms: int = 0
    idle_deadline_ms: int = 0
    house_fill_deadline_ms: int = 0
    match_no: int = 0
    holds_asked: int = 0
    left_late: tuple[str, ...] = ()
    last_dealer: int = -1
    last_turn: int = 0
    kasa: int = 0
    match: Match | None = None
    round: Round | None = None

    @property
    def match_id(self) -> str:
        """The id of the coming match, or of the running one."""
        number = self.match_no if self.match is not None else self.match_no + 1
        return f"{self.config.table_id}-{number}"

    def seat_of(self, player: str) -> int:
        """The seat that the player owns, or -1."""
        if player:
            for index, seat in enumerate(self.seats):
                if seat.player == player:
                    return index
        return -1

    @property
    def is_done(self) -> bool:
        """Whether the table is closed."""
        return self.phase is Phase.CLOSED


PHASE_TIMERS = {
    Phase.COUNTDOWN: TimerKind.COUNTDOWN,
    Phase.PAUSE: TimerKind.ROUND_PAUSE,
    Phase.NACHSPIEL: TimerKind.NACHSPIEL,
}


def seated_players(state: TableState) -> frozenset[str]:
    """Who is bound to this table, so that they sit nowhere else (W3)."""
    if state.is_done:
        return frozenset()
    return frozenset(seat.player for seat in state.seats if seat.is_person)


def running_timers(state: TableState) -> tuple[Timer, ...]:
    """Every clock that runs now, in no particular order."""
    timers: list[Timer] = []
    kind = PHASE_TIMERS.get(state.phase)
    if kind is not None:
        timers.append(Timer(kind, state.phase_deadline_ms))
    if state.round is not None and state.round.turn is not None:
        turn = state.round.turn
        timers.append(Timer(TimerKind.TURN, turn.deadline_ms, turn.seat))
    if state.phase is Phase.WAITING:
        timers.append(Timer(TimerKind.IDLE, state.idle_deadline_ms))
    if state.house_fill_deadline_ms and _waits_for_house_fill(state):
        timers.append(Timer(TimerKind.HOUSE_FILL, state.house_fill_deadline_ms))
    for index, seat in enumerate(state.seats):
        if seat.away_deadline_ms:
            timers.append(Timer(TimerKind.AWAY, seat.away_deadline_ms, index))
    return tuple(timers)


def _waits_for_house_fill(state: TableState) -> bool:
    """W5: only while a seat is free; else the clock would ring to no effect, again and again."""
    is_open = state.phase in (Phase.WAITING, Phase.NACHSPIEL)
    return is_open and any(seat.status is SeatStatus.FREE for seat in state.seats)
