"""What a viewer has to know after each row to go on: the little of its view that one acts upon.

Split in two, so that what all see alike is made once however many look.
"""

from dataclasses import dataclass

from okey.money.match import forfeit_price
from okey.rules.tile import Tile
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import Phase, TableState
from okey.table.view import TurnView, takeable, turn_view


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the table stands, the same for everybody; fields as in ``TableView``."""

    phase: Phase
    turn: TurnView | None
    stock_count: int
    takeable: Tile | None


@dataclass(frozen=True, slots=True)
class Choices:
    """What ``viewer`` (a seat, or SPECTATOR) may do now; fields as in ``TableView``."""

    viewer: int
    legal_actions: tuple[LegalAction, ...]
    forfeit_price: int


def moment(state: TableState) -> Moment:
    """Where the table stands."""
    running = state.round
    if running is None:
        return Moment(state.phase, None, 0, None)
    turn = turn_view(running.turn) if running.turn is not None else None
    return Moment(state.phase, turn, len(running.stock), takeable(running))


def has_same_choices(before: TableState, after: TableState, viewer: int) -> bool:
    """Whether the viewer may certainly do after a row what it could do before, at the same price.

    It asks for nothing but identity: who is not to move decides by seats, match, phase and the
    coming round's seed alone, and what has not changed of these is the same value.
    """
    return (
        before.seats is after.seats
        and before.match is after.match
        and before.phase is after.phase
        and before.sealed is after.sealed
        and not _is_to_move(before, viewer)
        and not _is_to_move(after, viewer)
    )


def _is_to_move(state: TableState, viewer: int) -> bool:
    running = state.round
    return running is not None and running.turn is not None and running.turn.seat == viewer


def choices(state: TableState, viewer: int) -> Choices:
    """What the viewer may do, and what giving up would cost it now (M9)."""
    legal = legal_actions(state, viewer)
    price = 0
    if LegalAction.FORFEIT in legal:
        price = forfeit_price(state.config.stake, state.config.rules)
    return Choices(viewer, legal, price)
