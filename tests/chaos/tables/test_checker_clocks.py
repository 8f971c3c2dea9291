"""Clocks and results that are not what was promised: each check goes red alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from okey.table import events as e
from tests.chaos.tables.clocks import (
    AWAKE,
    FORWARD,
    NOT_EARLY,
    NOT_LESS,
    NOT_MORE,
    STEADY,
    away_ms,
)
from tests.chaos.tables.freezes import FROZEN, read_freezes
from tests.chaos.tables.history import (
    CUT_OFF,
    DATABASE,
    ENGINE,
    KILLED,
    PAUSED,
    Asked,
    History,
    Outage,
    Update,
)
from tests.chaos.tables.lateness import CLIENTS
from tests.chaos.tables.owners import outages_at
from tests.chaos.tables.replay import Step
from tests.chaos.tables.results import BOOKED_ONCE, ENDS, ONE_RESULT, TOLD
from tests.chaos.tables.rings import ONCE_EACH
from tests.chaos.tables.spoiling import as_stored, broken, first, put, rows_of, steps_of
from tests.factories import TABLE_ID

# Clocks -------------------------------------------------------------------------------------------


def test_a_turn_with_more_than_its_full_time(history: History) -> None:
    """U4"""
    index, place = first(history, e.TurnStarted)
    event = rows_of(history)[index].events[place]
    assert isinstance(event, e.TurnStarted)
    put(history, (index, place), replace(event, deadline_ms=event.deadline_ms + 1))
    assert broken(history) == {NOT_MORE}


def test_a_turn_that_is_shown_with_more_than_its_full_time(history: History) -> None:
    """U4"""
    index, _ = first(history, e.TurnStarted)
    for client in history.clients:
        heard = client.heard[index + 1]
        assert isinstance(heard, Update)
        heard.update.prompt.turn.deadline_ms += 1
    assert broken(history) == {NOT_MORE}


def take_over(history: History, later_ms: int) -> None:
    """Let the new owner's clocks end so much later."""
    index, _ = first(history, e.TableTakenOver)
    event = rows_of(history)[index].events[0]
    assert isinstance(event, e.TableTakenOver)
    timers = tuple(replace(t, deadline_ms=t.deadline_ms + later_ms) for t in event.timers)
    put(history, (index, 0), replace(event, timers=timers))


def test_an_outage_that_counted_against_a_player(history: History) -> None:
    take_over(history, -1_000)
    assert broken(history) == {NOT_LESS}


def test_an_outage_that_gave_more_than_the_full_time(history: History) -> None:
    take_over(history, 15_000)
    assert broken(history) == {NOT_MORE}


def test_a_timeout_of_a_paused_engine(history: History) -> None:
    """The engine stood still for five seconds of the turn, and nobody took over."""
    index, _ = first(history, e.TurnTimedOut)
    at_ms = rows_of(history)[index].at_ms
    paused = Outage(ENGINE, PAUSED, at_ms - 6_000, at_ms - 1_000)
    spoilt = replace(history, outages=[*history.outages, paused])
    assert broken(spoilt) == {NOT_EARLY}
    assert broken(replace(spoilt, unnoticed_ms=5_000)) == set()


def test_only_outages_of_the_engine_that_had_the_table_count(history: History) -> None:
    (outage,) = history.outages
    take_over(history, -1_000)
    of_another = replace(outage, target="engine-2")
    for first_owner, found in (("engine-2", {NOT_LESS}), ("engine-3", set())):
        owners = {TABLE_ID: first_owner}
        spoilt = replace(history, outages=[of_another], first_owners=owners)
        assert broken(spoilt) == found


def test_an_outage_ends_for_a_table_when_another_engine_takes_it_over(history: History) -> None:
    """Its old owner may stay away for longer; the clocks run on from there."""
    (outage,) = history.outages
    longer = replace(outage, target="engine-2", ended_ms=outage.ended_ms + 60_000)
    steps = steps_of(history)
    moved = replace(history, outages=[longer], first_owners={TABLE_ID: "engine-2"})
    assert outages_at(moved, TABLE_ID, steps) == [replace(longer, ended_ms=outage.ended_ms)]
    assert broken(moved) == set()


def test_a_timer_that_fires_twice(history: History) -> None:
    index, place = first(history, e.TurnTimedOut)
    row = rows_of(history)[index]
    rows_of(history)[index] = replace(row, events=(*row.events[: place + 1], *row.events[place:]))
    as_stored(history)
    assert ONCE_EACH in broken(history)


def test_a_timeout_of_a_player_who_was_awake(history: History) -> None:
    """U5"""
    for client in history.clients:
        client.overslept.clear()
    assert broken(history) == {AWAKE}


@pytest.mark.parametrize(("errors", "found"), [(["UNAVAILABLE"], set()), ([], {AWAKE})])
def test_a_player_whose_call_hung_at_another_engine_was_kept_from_playing(
    history: History, errors: list[str], found: set[str]
) -> None:
    """The table's own engine ran, and its clocks with it."""
    step = next(step for step in steps_of(history) if _times_out(step))
    assert step.before is not None
    assert step.before.round is not None
    assert step.before.round.turn is not None
    turn = step.before.round.turn
    for client in history.clients:
        client.overslept.clear()
        sent_ms = turn.deadline_ms - 5_000
        client.asked.append(Asked("discard", "late", sent_ms, turn.number, errors))
    hung = Outage("engine-2", PAUSED, turn.deadline_ms - 4_000, turn.deadline_ms + 1_000)
    assert broken(replace(history, outages=[*history.outages, hung])) == found


def _times_out(step: Step) -> bool:
    return any(isinstance(event, e.TurnTimedOut) for event in step.row.events)


@pytest.mark.parametrize(("late_ms", "found"), [(2_500, {AWAKE}), (2_501, set())])
def test_a_client_whose_own_process_stood_was_not_awake(
    history: History, late_ms: int, found: set[str]
) -> None:
    """By the measure that an engine has for itself; what it missed in other turns counts not."""
    index, _ = first(history, e.TurnTimedOut)
    timed_out_ms = history.rows[TABLE_ID][index].at_ms
    for client in history.clients:
        client.overslept.clear()
    own_stops = [
        Outage(CLIENTS, PAUSED, 0, rows_of(history)[0].at_ms + 10_000),
        Outage(CLIENTS, PAUSED, timed_out_ms - late_ms, timed_out_ms),
        Outage(CLIENTS, PAUSED, timed_out_ms, timed_out_ms + 60_000),
    ]
    assert broken(replace(history, own_stops=own_stops)) == found


def test_a_deadline_that_comes_nearer(history: History) -> None:
    index, _ = first(history, e.TableTakenOver)
    for client in history.clients:
        heard = client.heard[index + 1]
        assert isinstance(heard, Update)
        heard.update.prompt.turn.deadline_ms -= 60_000
    assert broken(history) == {STEADY}


def test_an_outage_of_the_database_is_what_each_engine_says_of_its_clocks(history: History) -> None:
    """Whom it keeps from nothing it costs nothing."""
    outage = Outage(DATABASE, KILLED, 1_000, 9_000)
    freezes = [Outage("engine-1", FROZEN, 4_000, 9_500), Outage("engine-2", FROZEN, 9_100, 9_200)]
    assert replace(history, outages=[outage], freezes=freezes).known_outages == [
        Outage("engine-1", KILLED, 4_000, 9_000)
    ]
    assert replace(history, outages=[outage]).known_outages == []


def test_an_engine_that_was_cut_off_says_since_when_its_own_clocks_stood(history: History) -> None:
    outage = Outage("engine-1", CUT_OFF, 1_000, 9_000)
    freezes = [Outage("engine-1", FROZEN, 3_000, 5_000), Outage("engine-2", FROZEN, 2_000, 6_000)]
    assert replace(history, outages=[outage], freezes=freezes).known_outages == [
        Outage("engine-1", CUT_OFF, 3_000, 5_000)
    ]


def test_an_outage_is_over_for_a_table_that_was_taken_over(history: History) -> None:
    """Though the engine was seen alive later."""
    (outage,) = history.outages
    seen_late = replace(outage, ended_ms=outage.ended_ms + 20_000)
    assert broken(replace(history, outages=[seen_late])) == set()


def test_an_engines_log_tells_when_its_clocks_stood(tmp_path: Path) -> None:
    """A life that was killed meanwhile leaves a freeze without an end, and half a line; the next
    life's clocks do not stand for it.
    """
    lines = [
        {"event": "stands_still", "since_ms": 1_000, "for_ms": 5},
        {"event": "goes_on", "since_ms": 900, "stood_ms": 300},
        {"event": "stands_still", "since_ms": 5_000, "for_ms": 5},
        {"event": "serving"},
        {"event": "stands_still", "since_ms": 9_000, "for_ms": 5},
    ]
    log = tmp_path / "engine.log"
    log.write_text("\n".join(map(json.dumps, lines)) + '\n{"event": "goes')
    found = [(each.began_ms, each.ended_ms) for each in read_freezes("engine", log)]
    assert found == [(900, 1_200), (5_000, 5_005), (9_000, 9_005)]


def test_a_row_that_is_older_than_the_one_before(history: History) -> None:
    index, _ = first(history, e.NonceAdded)
    at_ms = rows_of(history)[index - 1].at_ms
    rows_of(history)[index] = replace(rows_of(history)[index], at_ms=at_ms - 1)
    assert broken(history) == {FORWARD}


def test_outages_that_overlap_count_once() -> None:
    outages = [
        Outage(ENGINE, KILLED, 100, 200),
        Outage(DATABASE, KILLED, 150, 250),
        Outage(DATABASE, PAUSED, 160, 180),
        Outage(ENGINE, KILLED, 400, 500),
    ]
    assert away_ms(outages, 0, 1_000) == 250
    assert away_ms(outages, 120, 450) == 180
    assert away_ms(outages, 260, 390) == 0


# Results ------------------------------------------------------------------------------------------


def test_a_match_that_is_settled_twice(history: History) -> None:
    """M5"""
    history.booked["settle", f"{TABLE_ID}-1"] += 1
    assert broken(history) == {BOOKED_ONCE}


def test_a_match_that_is_never_settled(history: History) -> None:
    """M5"""
    del history.booked["settle", f"{TABLE_ID}-1"]
    assert broken(history) == {BOOKED_ONCE}


def test_a_settlement_on_its_way_is_no_lost_one(history: History) -> None:
    """The table is closed, and at the end of a slow run the wallet did not know it yet."""
    del history.booked["settle", f"{TABLE_ID}-1"]
    assert broken(replace(history, still_open=frozenset({TABLE_ID}))) == {TOLD}


@pytest.mark.parametrize("kind", ["settle", "forfeit", "void_match"])
def test_more_is_booked_than_decided_also_of_a_table_that_is_open(
    history: History, kind: str
) -> None:
    """M5: a row comes before its journal, and was read after it."""
    history.booked[kind, f"{TABLE_ID}-1"] += 1
    assert broken(replace(history, still_open=frozenset({TABLE_ID}))) == {TOLD, BOOKED_ONCE}


def test_a_match_whose_start_is_booked_may_still_be_dealt(history: History) -> None:
    """The row follows the wallet's answer."""
    index, _ = first(history, e.MatchStarted)
    del rows_of(history)[index:]
    for client in history.clients:
        client.asked[:] = [asked for asked in client.asked if max(asked.seqs) <= index]
    history.booked.clear()
    history.booked["start", f"{TABLE_ID}-1"] = 1
    as_stored(history)
    assert broken(replace(history, still_open=frozenset({TABLE_ID}))) == {ENDS}


def test_a_match_without_a_result(history: History) -> None:
    index, _ = first(history, e.MatchEnded)
    seq = index + 1
    del rows_of(history)[index:]
    del history.booked["settle", f"{TABLE_ID}-1"]
    for client in history.clients:
        client.asked[:] = [asked for asked in client.asked if max(asked.seqs) < seq]
    as_stored(history)
    assert broken(history) == {ENDS, ONE_RESULT, BOOKED_ONCE}


def test_a_match_with_two_results(history: History) -> None:
    index, place = first(history, e.MatchEnded)
    row = rows_of(history)[index]
    rows_of(history)[index] = replace(row, events=(*row.events[: place + 1], *row.events[place:]))
    as_stored(history)
    assert ONE_RESULT in broken(history)
