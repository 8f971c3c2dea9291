"""A finished round is shown in full with its commitment; a running one to nobody (T9)."""

from collections.abc import Callable

import pytest

from okey.rules.deal import commit
from okey.table import commands as c
from okey.table import events as e
from okey.table.events import Event
from okey.table.public import REVEALED
from services.engine.errors import NoSuchRound, RoundNotEnded
from services.engine.finished_round import find_round
from services.engine.record import Row
from services.engine.wire import event_message
from tests.factories import Driver, dealt, klasik, of_kind, paused


def rows_of(table: Driver) -> list[Row]:
    """One row an event is the finest cut there is."""
    return [Row(n, n, (event,)) for n, event in enumerate(table.events, start=1)]


def in_one_row(table: Driver) -> list[Row]:
    return [Row(1, 1, tuple(table.events))]


@pytest.mark.parametrize("cut", [rows_of, in_one_row])
def test_a_finished_round_is_whole_from_deal_to_end(cut: Callable[[Driver], list[Row]]) -> None:
    """T9: all racks, the stock, every drawn tile, and the seed that the commitment binds."""
    table = paused()
    found = find_round(cut(table), 1, 1)
    events: list[Event] = [event for row in found.rows for event in row.events]
    assert isinstance(events[0], e.RoundDealt)
    assert isinstance(events[-1], e.RoundEnded)
    assert found.commitment == commit(events[-1].revealed)
    assert found.match_id == table.match.match_id
    [started] = of_kind(table.events, e.MatchStarted)
    assert found.players == started.players
    assert all(found.players)
    drawn = [event_message(x, REVEALED).tile_drawn.tile for x in of_kind(events, e.TileDrawn)]
    assert drawn
    assert all(drawn)


def test_a_second_round_is_bound_by_the_commitment_of_the_first_ones_end() -> None:
    """T9: later rounds are committed to at the end of the round before."""
    table = paused()
    table.next_round()
    table.draw_round()
    found = find_round(rows_of(table), 1, 2)
    ended = of_kind(table.events, e.RoundEnded)
    assert found.commitment == ended[0].sealed.commitment == commit(ended[1].revealed)


def test_a_running_round_is_shown_to_nobody() -> None:
    """T9: nothing public before the end lets anyone derive a hidden tile."""
    table = dealt(klasik())
    with pytest.raises(RoundNotEnded):
        find_round(rows_of(table), 1, 1)
    table.pass_turn()
    with pytest.raises(RoundNotEnded):
        find_round(in_one_row(table), 1, 1)


@pytest.mark.parametrize(("match_no", "round_no"), [(1, 2), (2, 1)])
def test_a_round_that_was_not_dealt_is_not_found(match_no: int, round_no: int) -> None:
    with pytest.raises(NoSuchRound):
        find_round(rows_of(paused()), match_no, round_no)


def test_a_voided_round_is_finished() -> None:
    """M10, T9: its seed is published and never used again."""
    table = dealt()
    table.do(c.VoidMatch("op", "broken"))
    found = find_round(rows_of(table), 1, 1)
    ended = found.rows[-1].events[-1]
    assert isinstance(ended, e.RoundEnded)
    assert commit(ended.revealed) == found.commitment
