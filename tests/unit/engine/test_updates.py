"""The bytes of an update are those of the message that it stands for, for every viewer."""

import pytest

from okey.api.engine.v1 import engine_pb2
from okey.table.view import SPECTATOR, view
from services.engine.updates import Allowed, RowUpdates
from services.engine.wire import named_view, prompt_message, update_message, viewers_along
from tests.walk import KINDS, Step, table_named, walk

NOW_MS = 1_800_000_000_123
STRANGER = "zoe"


def message(step: Step, player: str, *, with_view: bool) -> engine_pb2.TableUpdate:
    """The update as a message, made field by field from the player's view."""
    was = SPECTATOR if step.before is None else step.before.seat_of(player)
    seen = view(step.after, step.after.seat_of(player))
    names = {seat.player: seat.player.title() for seat in step.after.seats}
    viewers = list(viewers_along(step.row.events, player, was))
    update = update_message(step.row, viewers, NOW_MS, names)
    update.prompt.CopyFrom(prompt_message(seen))
    if with_view:
        update.view.CopyFrom(named_view(seen, step.row.seq, NOW_MS, names))
    return update


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_gets_the_update_that_its_view_says(kind: str) -> None:
    """T9, H8: whoever looks, and whatever was made for others of the same row."""
    rows = [step for seed in range(12) for step in walk(table_named(kind), seed, 60)]
    assert any(step.after.round is not None for step in rows)
    assert len(rows) > 100
    allowed = Allowed()
    for step in rows:
        names = {seat.player: seat.player.title() for seat in step.after.seats}
        allowed.follow(step.before, step.after)
        updates = RowUpdates(step.after, step.row, NOW_MS, names, allowed)
        tables = [step.after] if step.before is None else [step.before, step.after]
        people = {seat.player for table in tables for seat in table.seats if seat.player}
        for player in (STRANGER, *sorted(people)):
            was = SPECTATOR if step.before is None else step.before.seat_of(player)
            now = step.after.seat_of(player)
            for with_view in (False, True):
                wire = updates.wire(player, was, now, with_view=with_view)
                expected = message(step, player, with_view=with_view)
                assert engine_pb2.PlayResponse.FromString(wire).update == expected
                assert engine_pb2.WatchTableResponse.FromString(wire).update == expected
