"""What one may see of a table: a seat sees its own rack, a spectator none, nobody the stock or a
seed.

Everything here is built from named fields, one by one, so that a new hidden field stays hidden by
default.
"""

from dataclasses import dataclass
from enum import IntEnum

from okey.money.match import forfeit_price
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table.commands import Timer
from okey.table.config import TableConfig
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import (
    Hand,
    Phase,
    Round,
    SeatStatus,
    TableState,
    Turn,
    running_timers,
)

SPECTATOR = -1


class Control(IntEnum):
    """Who plays a seat at the moment."""

    NOBODY = 1
    PERSON = 2
    STAND_IN = 3  # an AI, for a person who may come back (U7)
    HOUSE = 4  # an AI that owns the seat


@dataclass(frozen=True, slots=True)
class SeatView:
    """A seat as everybody sees it; ``rack_count``, ``pile`` and ``taken`` are of the running round.

    ``taken`` are the tiles that everybody knows it holds: it drew them from its neighbour's pile.
    ``is_fill`` marks a bot that filled a free seat: the match is unrated (W5).
    """

    seat: int
    status: SeatStatus
    control: Control
    player: str
    bot_level: BotLevel | None
    is_fill: bool
    away_deadline_ms: int
    gave_up: bool
    points: int
    rack_count: int
    pile: tuple[Tile, ...]
    taken: tuple[Tile, ...]
    has_announced_cift: bool
    has_shown_gosterge: bool
    has_nonce: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """The turn as everybody sees it: ``has_drawn`` says that a discard comes next."""

    number: int
    seat: int
    deadline_ms: int
    has_drawn: bool


@dataclass(frozen=True, slots=True)
class RoundView:
    """The running round; ``rack`` is the viewer's own, empty for spectators.

    ``okey`` is the okey's face (T4). ``takeable`` is the discard that the seat to move may draw.
    ``own_turns`` and ``drawn`` (the tile drawn in this turn) speak of the viewer's own seat.
    """

    round_no: int
    playing: tuple[int, ...]
    dealer: int
    starter: int
    gosterge: Tile
    okey: Tile
    stock_count: int
    turn: TurnView | None
    takeable: Tile | None
    is_tie_break: bool
    rack: tuple[Tile, ...]
    drawn: Tile | None
    own_turns: int


@dataclass(frozen=True, slots=True)
class TableView:
    """A table as ``viewer`` (a seat, or SPECTATOR) sees it; amounts in chips.

    ``forfeit_price`` is what giving up would cost the viewer now, beside 20 rating points (M9), 0
    where there is nothing to give up. ``commitment`` binds the server to the seed of the running or
    coming round (T9).
    """

    config: TableConfig
    viewer: int
    phase: Phase
    match_id: str
    match_no: int
    kasa: int
    pot: int
    commitment: bytes
    seats: tuple[SeatView, ...]
    round: RoundView | None
    timers: tuple[Timer, ...]
    legal_actions: tuple[LegalAction, ...]
    forfeit_price: int


def view(state: TableState, viewer: int) -> TableView:
    """The table as ``viewer`` sees it: a seat number, or SPECTATOR."""
    config = state.config
    running = state.round
    legal = legal_actions(state, viewer)
    price = forfeit_price(config.stake, config.rules)
    return TableView(
        config=config,
        viewer=viewer,
        phase=state.phase,
        match_id=state.match_id,
        match_no=state.match_no,
        kasa=state.kasa,
        pot=state.match.money.pot if state.match is not None else 0,
        commitment=_commitment(state),
        seats=tuple(_seat_view(state, seat) for seat in range(config.seat_count)),
        round=_round_view(state, running, viewer) if running is not None else None,
        timers=running_timers(state),
        legal_actions=legal,
        forfeit_price=price if LegalAction.FORFEIT in legal else 0,
    )


def _commitment(state: TableState) -> bytes:
    if state.round is not None:
        return state.round.commitment
    return state.sealed.commitment if state.sealed is not None else b""


def _control(state: TableState, seat: int) -> Control:
    own = state.seats[seat]
    if own.house is not None:
        return Control.HOUSE
    if own.away_deadline_ms:
        return Control.STAND_IN
    return Control.PERSON if own.is_person else Control.NOBODY


def _seat_view(state: TableState, seat: int) -> SeatView:
    own = state.seats[seat]
    hand = state.round.hands[seat] if state.round is not None else None
    points = state.match.points if state.match is not None else ()
    return SeatView(
        seat=seat,
        status=own.status,
        control=_control(state, seat),
        player=own.player,
        bot_level=own.house,
        is_fill=own.is_fill,
        away_deadline_ms=own.away_deadline_ms,
        gave_up=own.gave_up,
        points=points[seat] if points else 0,
        rack_count=len(hand.rack) if hand else 0,
        pile=hand.pile if hand else (),
        taken=hand.taken if hand else (),
        has_announced_cift=hand is not None and hand.announced_at > 0,
        has_shown_gosterge=hand is not None and hand.has_shown_gosterge,
        has_nonce=own.nonce != b"",
    )


def _round_view(state: TableState, running: Round, viewer: int) -> RoundView:
    own = running.hands[viewer] if viewer >= 0 else Hand()
    turn = running.turn
    is_own_turn = turn is not None and turn.seat == viewer
    return RoundView(
        round_no=running.round_no,
        playing=running.playing,
        dealer=running.dealer,
        starter=running.starter,
        gosterge=running.gosterge,
        okey=running.okey,
        stock_count=len(running.stock),
        turn=turn_view(turn) if turn is not None else None,
        takeable=takeable(running),
        is_tie_break=bool(state.match and state.match.contenders),
        rack=own.rack,
        drawn=turn.drawn if turn is not None and is_own_turn else None,
        own_turns=own.own_turns,
    )


def turn_view(turn: Turn) -> TurnView:
    """The turn as everybody sees it."""
    return TurnView(turn.number, turn.seat, turn.deadline_ms, turn.drawn is not None)


def takeable(running: Round) -> Tile | None:
    """The discard that the seat to move may draw (U1), if there is one."""
    turn = running.turn
    if turn is None or turn.drawn is not None:
        return None
    pile = running.hands[running.previous_seat(turn.seat)].pile
    return pile[-1] if pile else None
