"""Commands that were acknowledged and not kept, or kept otherwise: each check goes red alone."""

from dataclasses import replace

import pytest

from okey.table import events as e
from okey.table.reasons import VacateReason
from services.engine.record import Request, Row
from tests.chaos.tables.acknowledged import (
    DURABLE,
    EXPECTED,
    HONEST,
    NOBODY,
    ONCE,
    check_acknowledged,
)
from tests.chaos.tables.checker import STORED
from tests.chaos.tables.history import (
    Asked,
    ClientHistory,
    Ended,
    History,
)
from tests.chaos.tables.spoiling import broken, first, rows_of
from tests.factories import PLAYERS


def asked_of(history: History, player: int = 0) -> list[Asked]:
    return history.clients[player].asked


def test_an_acknowledged_command_that_is_not_stored(history: History) -> None:
    asked = Asked("draw", "request-lost", 0)
    asked.seqs.append(7)
    asked_of(history).append(asked)
    assert broken(history) == {DURABLE}


@pytest.mark.parametrize(("told", "expected"), [(7, set()), (6, {DURABLE})])
def test_a_repeated_leave_names_a_row_from_the_first_on(told: int, expected: set[str]) -> None:
    """Who is leaving already gets no second row; who is not has to be stored."""
    left = Row(7, 0, (e.LeaveRequested(0),), Request("ayse", "request-first", b""))
    first, again = Asked("LeaveSeat", "request-first", 0), Asked("LeaveSeat", "request-again", 0)
    first.seqs.append(7)
    again.seqs.append(told)
    client = ClientHistory("ayse", "t", asked=[first, again])
    assert {each.check for each in check_acknowledged([client], {"t": [left]})} == expected


def test_an_acknowledged_command_that_is_stored_elsewhere(history: History) -> None:
    asked_of(history)[0].seqs[:] = [2]
    assert broken(history) == {DURABLE}


def test_a_repeated_command_that_got_another_answer(history: History) -> None:
    asked_of(history)[0].seqs.append(3)
    assert broken(history) == {DURABLE}


def test_a_draw_that_was_told_otherwise(history: History) -> None:
    drawn = next(asked for asked in asked_of(history, 1) + asked_of(history) if asked.drawn)
    drawn.drawn = drawn.drawn % 52 + 1
    assert broken(history) == {DURABLE}


def test_a_command_that_is_stored_twice(history: History) -> None:
    """The second time as a row that changes nothing else."""
    index, _ = first(history, e.SeatPaid)
    request = rows_of(history)[1].request
    rows_of(history)[index] = replace(rows_of(history)[index], request=request)
    assert broken(history) == {ONCE}


def test_a_refused_command_that_is_stored(history: History) -> None:
    asked = asked_of(history)[0]
    asked.seqs.clear()
    asked.refusal = "TURN_OVER"
    assert broken(history) == {HONEST}


def test_a_stored_command_that_nobody_sent(history: History) -> None:
    index, _ = first(history, e.SeatPaid)
    invented = Request(PLAYERS[0], "request-invented", b"")
    rows_of(history)[index] = replace(rows_of(history)[index], request=invented)
    assert broken(history) == {NOBODY}


@pytest.mark.parametrize("is_matched", [True, False])
@pytest.mark.parametrize(
    ("event", "is_lobbys"),
    [
        (e.SeatRequested(0, PLAYERS[0], "hold", 0), True),
        (e.SeatVacated(0, PLAYERS[0], "hold", VacateReason.LEFT, 0), True),
        (e.SeatVacated(0, PLAYERS[0], "hold", VacateReason.SILENT, 0), False),
        (e.SeatPaid(0, "hold"), False),
    ],
)
def test_what_a_lobby_asks_for_somebody_whom_it_has_matched(
    event: e.Event, is_lobbys: bool, is_matched: bool
) -> None:
    """It takes seats, and gives them back where the others have not come; nothing else."""
    row = Row(1, 0, (event,), Request(PLAYERS[0], "quick-1", b""))
    client = ClientHistory(PLAYERS[0], "a-table", is_matched=is_matched)
    found = {finding.check for finding in check_acknowledged([client], {"a-table": [row]})}
    assert found == (set() if is_lobbys and is_matched else {NOBODY})


def test_a_command_of_unknown_end_may_be_stored_or_not(history: History) -> None:
    asked_of(history)[0].seqs.clear()
    asked_of(history).append(Asked("draw", "request-lost", 0))
    assert broken(history) == set()


@pytest.mark.parametrize("is_final", [True, False])
def test_a_command_that_met_an_unexpected_error(history: History, is_final: bool) -> None:
    asked = asked_of(history)[0]
    if is_final:
        asked_of(history).append(Asked("draw", "request-broken", 0, refusal="INTERNAL"))
    else:
        asked.errors.append("INTERNAL")
    assert broken(history) == {EXPECTED}


def test_a_stream_that_ended_with_an_unexpected_error(history: History) -> None:
    history.clients[2].heard.append(Ended(0, "INTERNAL"))
    assert broken(history) == {EXPECTED}


def test_a_row_that_is_missing(history: History) -> None:
    del rows_of(history)[5]
    assert STORED in broken(history)


def test_a_move_that_counted_twice(history: History) -> None:
    """Two owners of one table: the same discard under the same id, and no tile left for it."""
    index = next(
        index
        for index, row in enumerate(rows_of(history))
        if row.request is not None and isinstance(row.events[0], e.TileDiscarded)
    )
    for later in rows_of(history)[index:]:
        rows_of(history)[later.seq - 1] = replace(later, seq=later.seq + 1)
    rows_of(history).insert(index, replace(rows_of(history)[index], seq=index + 1))
    assert {STORED, ONCE} <= broken(history)
