"""What a viewer may do after each row, and at what price."""

from dataclasses import dataclass

from okey.money.match import forfeit_price
from okey.table.legal import LegalAction, legal_actions
from okey.table.state import TableState


@dataclass(frozen=True, slots=True)
class Choices:
    """What ``viewer`` (a seat, or SPECTATOR) may do now; fields as in ``TableView``."""

    viewer: int
    legal_actions: tuple[LegalAction, ...]
    forfeit_price: int


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
