"""What a viewer may do after each row: always what its whole view would say."""

from collections.abc import Callable

import pytest

from okey.table import commands as c
from okey.table.prompt import choices, has_same_choices
from okey.table.view import SPECTATOR, view
from tests.factories import (
    STOCK,
    Driver,
    canak,
    dealt,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    settling,
    tie_break,
)


def discarded() -> Driver:
    """The second turn, so that a discard may be taken."""
    table = dealt(canak(4))
    table.do(table.move(c.Discard(table.hand(table.mover).rack[-1])))
    return table


def drawn() -> Driver:
    table = discarded()
    table.do(table.move(c.Draw(STOCK)))
    return table


TABLES: dict[str, Callable[[], Driver]] = {
    "opened": opened,
    "paid": paid,
    "dealt": lambda: dealt(klasik(4)),
    "discarded": discarded,
    "drawn": drawn,
    "paused": paused,
    "tie-break": lambda: tie_break(0, 1),
    "settling": settling,
    "nachspiel": nachspiel,
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_a_prompt_says_what_the_view_says(make: Callable[[], Driver]) -> None:
    """U1, M9: what one may do, and what giving up costs."""
    table = make()
    for viewer in (SPECTATOR, *range(table.config.seat_count)):
        seen, mine = view(table.state, viewer), choices(table.state, viewer)
        assert mine.viewer == viewer
        assert mine.legal_actions == seen.legal_actions
        assert mine.forfeit_price == seen.forfeit_price


@pytest.mark.parametrize("name", TABLES)
def test_choices_that_are_said_to_be_the_same_are(name: str) -> None:
    """U1, H7, T9: whatever was done in between, a draw, a discard, a nonce or a seat."""
    before = TABLES[name]().state
    for after in (before, *(make().state for make in TABLES.values())):
        for viewer in range(SPECTATOR, min(len(before.seats), len(after.seats))):
            if has_same_choices(before, after, viewer):
                assert choices(after, viewer) == choices(before, viewer)


def test_a_draw_changes_nothing_for_who_is_not_to_move() -> None:
    """U1: nor does a discard for those who neither were nor are to move."""
    table = discarded()
    before = table.state
    mover = table.turn.seat
    table.do(table.move(c.Draw(STOCK)))
    same = [has_same_choices(before, table.state, viewer) for viewer in range(SPECTATOR, 4)]
    assert same == [viewer != mover for viewer in range(SPECTATOR, 4)]


def test_another_phase_or_seat_may_change_everybodys_choices() -> None:
    """T9, W2: what is asked is whether anything has changed, not whether it matters."""
    for before, after in ((opened(), paid()), (dealt(), paused()), (settling(), nachspiel())):
        for viewer in range(SPECTATOR, 2):
            assert not has_same_choices(before.state, after.state, viewer)
