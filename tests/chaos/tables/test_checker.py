"""Every check goes red on a history that breaks its promise, and only that check."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.table import events as e
from okey.table.events import Event
from services.engine.record import Request, Row
from tests.chaos.tables.acknowledged import (
    DURABLE,
    EXPECTED,
    HONEST,
    NOBODY,
    ONCE,
    check_acknowledged,
)
from tests.chaos.tables.checker import STORED, check
from tests.chaos.tables.clocks import (
    AWAKE,
    FORWARD,
    NOT_EARLY,
    NOT_LESS,
    NOT_MORE,
    STEADY,
    away_ms,
)
from tests.chaos.tables.hidden import HIDDEN
from tests.chaos.tables.history import (
    DATABASE,
    ENGINE,
    KILLED,
    PAUSED,
    Asked,
    ClientHistory,
    Ended,
    History,
    Opened,
    Outage,
    Snapshot,
    Update,
)
from tests.chaos.tables.owners import outages_at
from tests.chaos.tables.recording import (
    CLOSED,
    client_of,
    seen_snapshot,
    seen_update,
    snapshot_of,
    true_history,
    update_of,
)
from tests.chaos.tables.replay import Step, replay
from tests.chaos.tables.results import BOOKED_ONCE, ENDS, ONE_RESULT
from tests.chaos.tables.rings import ONCE_EACH
from tests.chaos.tables.shown import SHOWN
from tests.chaos.tables.streams import GAPLESS
from tests.factories import PLAYERS, TABLE_ID


@pytest.fixture
def history() -> History:
    return true_history()


def rows_of(history: History) -> list[Row]:
    """The stored rows, to be spoilt in place."""
    rows = history.rows[TABLE_ID]
    assert isinstance(rows, list)
    return rows


def steps_of(history: History) -> list[Step]:
    return replay(rows_of(history))


def first(history: History, kind: type[Event]) -> tuple[int, int]:
    """Where in the rows (from 0), and where in that row, the first such event stands."""
    for index, row in enumerate(history.rows[TABLE_ID]):
        for place, event in enumerate(row.events):
            if isinstance(event, kind):
                return index, place
    raise AssertionError(f"no {kind.__name__}")


def put(history: History, at: tuple[int, int], event: Event) -> None:
    """Replace a stored event, for all clients too."""
    index, place = at
    row = rows_of(history)[index]
    events = (*row.events[:place], event, *row.events[place + 1 :])
    rows_of(history)[index] = replace(row, events=events)
    as_stored(history)


def as_stored(history: History) -> None:
    """Let every client have heard just what is stored, once that was changed."""
    steps = steps_of(history)
    for client in history.clients:
        client.heard[:] = client_of(client.player, steps).heard


def broken(history: History) -> set[str]:
    return {finding.check for finding in check(history)}


def updates(client: ClientHistory) -> list[int]:
    """Where in what the client heard the rows stand."""
    return [index for index, heard in enumerate(client.heard) if isinstance(heard, Update)]


def test_a_true_history_has_no_findings(history: History) -> None:
    assert check(history) == []


# Streams ------------------------------------------------------------------------------------------


def test_a_row_that_was_skipped(history: History) -> None:
    heard = history.clients[0].heard
    del heard[updates(history.clients[0])[3]]
    assert broken(history) == {GAPLESS}


def test_a_row_that_came_twice(history: History) -> None:
    heard = history.clients[0].heard
    index = updates(history.clients[0])[3]
    heard.insert(index, heard[index])
    assert broken(history) == {GAPLESS}


def test_a_resumed_stream_that_skips_a_row(history: History) -> None:
    client = history.clients[2]
    index = updates(client)[3]
    cursor = updates(client)[2]
    update = client.heard[cursor]
    assert isinstance(update, Update)
    client.heard[index : index + 1] = [Ended(0, "UNAVAILABLE"), Opened(0, update.update.seq)]
    assert broken(history) == {GAPLESS}


def test_a_table_that_went_back(history: History) -> None:
    """A row that was shown is gone after a restart."""
    client, steps = history.clients[0], steps_of(history)
    client.heard += [Opened(0, None), snapshot_of(client.player, steps[5])]
    client.heard += [update_of(client.player, step) for step in steps[6:]]
    assert broken(history) == {GAPLESS}


def test_a_stream_that_closes_before_the_last_row(history: History) -> None:
    del history.clients[2].heard[-2]
    assert broken(history) == {GAPLESS}


def test_a_row_before_any_snapshot(history: History) -> None:
    del history.clients[0].heard[1]
    assert broken(history) == {GAPLESS}


def test_a_snapshot_in_mid_stream(history: History) -> None:
    client, steps = history.clients[0], steps_of(history)
    client.heard.insert(updates(client)[4], snapshot_of(client.player, steps[4]))
    assert broken(history) == {GAPLESS}


# What was shown -----------------------------------------------------------------------------------


def spoil_update(
    history: History, kind: str, spoil: Callable[[engine_pb2.TableUpdate], None]
) -> None:
    """Change the first row with such an event as the spectator heard it."""
    heard = history.clients[2].heard
    for index in updates(history.clients[2]):
        update = heard[index]
        assert isinstance(update, Update)
        if any(event.WhichOneof("event") == kind for event in update.update.events):
            spoil(update.update)
            heard[index] = seen_update(update.update)
            return
    raise AssertionError(f"no {kind}")


def test_a_row_that_was_shown_otherwise(history: History) -> None:
    def spoil(update: engine_pb2.TableUpdate) -> None:
        discarded = update.events[0].tile_discarded
        discarded.tile = common_pb2.TILE_R1 if discarded.tile != 1 else common_pb2.TILE_R2

    spoil_update(history, "tile_discarded", spoil)
    assert broken(history) == {SHOWN}


def test_an_old_board_after_a_reconnect(history: History) -> None:
    client, steps = history.clients[0], steps_of(history)
    old = snapshot_of(client.player, steps[1]).view
    old.seq = steps[-1].row.seq
    client.heard += [Opened(0, None), seen_snapshot(old), Ended(0, CLOSED)]
    assert broken(history) == {SHOWN}


# Hidden tiles -------------------------------------------------------------------------------------


def test_a_stock_tile_shown_to_others(history: History) -> None:
    def spoil(update: engine_pb2.TableUpdate) -> None:
        update.events[0].tile_drawn.tile = common_pb2.TILE_R1

    spoil_update(history, "tile_drawn", spoil)
    assert HIDDEN in broken(history)


def test_a_rack_dealt_to_a_spectator(history: History) -> None:
    def spoil(update: engine_pb2.TableUpdate) -> None:
        for event in update.events:
            if event.WhichOneof("event") == "round_dealt":
                event.round_dealt.racks[1].tiles.append(common_pb2.TILE_R1)

    spoil_update(history, "round_dealt", spoil)
    assert HIDDEN in broken(history)


def test_the_stock_shown_in_the_deal(history: History) -> None:
    def spoil(update: engine_pb2.TableUpdate) -> None:
        for event in update.events:
            if event.WhichOneof("event") == "round_dealt":
                event.round_dealt.stock.append(common_pb2.TILE_R1)

    spoil_update(history, "round_dealt", spoil)
    assert HIDDEN in broken(history)


def test_a_rack_in_a_spectators_view(history: History) -> None:
    client, steps = history.clients[2], steps_of(history)
    client.heard[1] = seen_snapshot(snapshot_of(PLAYERS[0], steps[0]).view)
    index, _ = first(history, e.RoundDealt)
    client.heard[1:] = [
        snapshot_of(PLAYERS[0], steps[index]),
        *(update_of("guest", step) for step in steps[index + 1 :]),
        Ended(0, CLOSED),
    ]
    assert HIDDEN in broken(history)


@pytest.mark.parametrize(
    "secret",
    [
        lambda round_: round_.seed,
        lambda round_: bytes(round_.stock[3:12]),
        lambda round_: bytes(reversed(round_.stock[-9:])),
        lambda round_: bytes(round_.hands[1].rack[2:9]),
        lambda round_: bytes(sorted(round_.hands[1].rack)),
    ],
    ids=["seed", "stock", "stock backwards", "rack", "rack sorted"],
)
def test_a_secret_in_bytes_that_no_field_explains(
    history: History, secret: Callable[..., bytes]
) -> None:
    """Also in a field that this version of the messages does not know."""
    index, _ = first(history, e.RoundDealt)
    step = steps_of(history)[index + 1]
    heard = history.clients[0].heard
    update = heard[index + 2]
    assert isinstance(update, Update)
    assert update.update.seq == step.row.seq
    assert step.after.round is not None
    heard[index + 2] = replace(update, wire=update.wire + secret(step.after.round))
    assert broken(history) == {HIDDEN}


def test_the_other_copies_of_six_tiles_of_a_rack_in_a_pile(history: History) -> None:
    """Whoever sees the pile learns nothing of the rack; the same tiles anywhere else are shown."""
    index, _ = first(history, e.RoundDealt)
    step = steps_of(history)[index]
    assert step.after.round is not None
    alike = sorted(step.after.round.hands[1].rack)[2:8]
    view = snapshot_of(PLAYERS[0], step).view
    view.seats[0].pile.extend(common_pb2.Tile.ValueType(tile) for tile in alike)
    heard, wire = history.clients[0].heard, view.SerializeToString()

    heard[:] = [Opened(0, None), Snapshot(0, view, wire), Ended(0, CLOSED)]
    assert HIDDEN not in broken(history)

    heard[1] = Snapshot(0, view, wire + bytes(alike))
    assert HIDDEN in broken(history)


def test_a_nonce_before_the_deal(history: History) -> None:
    client = history.clients[1]
    index, _ = first(history, e.NonceAdded)
    heard = client.heard[index + 1]
    assert isinstance(heard, Update)
    client.heard[index + 1] = replace(heard, wire=heard.wire + b"n" * 32)
    assert broken(history) == {HIDDEN}


# Acknowledged and stored --------------------------------------------------------------------------


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


def test_a_deadline_that_comes_nearer(history: History) -> None:
    index, _ = first(history, e.TableTakenOver)
    for client in history.clients:
        heard = client.heard[index + 1]
        assert isinstance(heard, Update)
        heard.update.prompt.turn.deadline_ms -= 60_000
    assert broken(history) == {STEADY}


def test_an_outage_of_the_database_begins_with_the_first_command(history: History) -> None:
    """Whom it keeps from nothing it costs nothing."""
    outage = Outage(DATABASE, KILLED, 1_000, 9_000)
    client = history.clients[0]
    client.asked[:] = [Asked("draw", "one", 500), Asked("draw", "two", 4_000)]
    unmet = [ClientHistory("unmet", TABLE_ID)]
    assert replace(history, outages=[outage], clients=[client]).known_outages == [
        replace(outage, began_ms=4_000)
    ]
    assert replace(history, outages=[outage], clients=unmet).known_outages == [
        replace(outage, began_ms=9_000)
    ]


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
