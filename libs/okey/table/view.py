"""What one may see of a table: a seat sees its own rack, a spectator none, nobody the stock or a seed.

Everything here is built from named fields, one by one, so that a new hidden field stays hidden by default.
"""

from dataclasses import dataclass
from enum import IntEnum

from okey.money.projection import forfeit_price
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table.commands import Timer
from okey.table.config import TableConfig
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import Phase, Round, SeatStatus, TableState, running_timers

SPECTATOR = -1


class Control(IntEnum):
    """Who plays a seat at the moment."""

    NOBODY = 1
    PERSON = 2
    STAND_IN = 3  # an AI, for a person who may come back (U7)
    HOUSE = 4  # an AI that owns the seat


@dataclass(frozen=True, slots=True)
class SeatView:
    """A seat as everybody sees it; ``rack_count`` and ``pile`` are of the running round."""

    seat: int
    status: SeatStatus
    control: Control
    player: str
    bot_level: BotLevel | None
    away_deadline_ms: int
    gave_up: bool
    points: int
    rack_count: int
    pile: tuple[Tile, ...]
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

    ``okey`` is the okey's face (T4). ``takeable`` is the discard that the seat to move may draw. ``own_turns`` and
    ``drawn`` (the tile drawn in this turn) speak of the viewer's own seat.
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

    ``forfeit_price`` is what giving up would cost now, beside 20 rating points (M9), 0 when there is no match.
    ``commitment`` binds the server to the seed of the running or coming round (T9).
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
