"""Streams, and what they show: every check goes red on a history that breaks its promise, alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.table import events as e
from tests.chaos.tables.checker import check
from tests.chaos.tables.hidden import HIDDEN
from tests.chaos.tables.history import (
    Ended,
    History,
    Opened,
    Snapshot,
    Update,
)
from tests.chaos.tables.recording import (
    CLOSED,
    seen_snapshot,
    seen_update,
    snapshot_of,
    update_of,
)
from tests.chaos.tables.shown import SHOWN
from tests.chaos.tables.spoiling import (
    broken,
    first,
    steps_of,
    updates,
)
from tests.chaos.tables.streams import GAPLESS
from tests.factories import PLAYERS

_FIVE = 5
"""One tile fewer than are looked for in a row."""


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


def test_the_length_of_a_pile_is_no_tile(history: History) -> None:
    """On the wire it stands before the pile's tiles, and may be what a rack holds before them."""
    index, _ = first(history, e.RoundDealt)
    step = steps_of(history)[index]
    assert step.after.round is not None
    rack = sorted(step.after.round.hands[1].rack)
    at = next(at for at, tile in enumerate(rack) if tile > _FIVE)
    pile = rack[at + 1 : at + 1 + _FIVE]
    pile += rack[:1] * (rack[at] - len(pile))
    view = snapshot_of(PLAYERS[0], step).view
    view.seats[0].pile.extend(common_pb2.Tile.ValueType(tile) for tile in pile)
    wire = view.SerializeToString()
    assert bytes(rack[at : at + 1 + _FIVE]) in wire
    history.clients[0].heard[:] = [Opened(0, None), Snapshot(0, view, wire), Ended(0, CLOSED)]
    assert HIDDEN not in broken(history)


def test_a_nonce_before_the_deal(history: History) -> None:
    client = history.clients[1]
    index, _ = first(history, e.NonceAdded)
    heard = client.heard[index + 1]
    assert isinstance(heard, Update)
    client.heard[index + 1] = replace(heard, wire=heard.wire + b"n" * 32)
    assert broken(history) == {HIDDEN}
