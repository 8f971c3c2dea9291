"""What was shown is what is stored: each row, and each look at the table, as its viewer may see it.

This holds against a record that is right while the relay shows an old or another board.
"""

from collections.abc import Iterator, Sequence

from okey.table.view import SPECTATOR
from services.engine.wire import event_message, view_message, viewers_along
from tests.chaos.tables.history import ClientHistory, Finding, Snapshot, Update
from tests.chaos.tables.replay import Replays, Step

SHOWN = "shown as stored"


def check_shown(client: ClientHistory, replays: Replays) -> Iterator[Finding]:
    """Everything that one client was shown, against the stored rows."""
    steps = replays.get(client.table_id, ())
    for heard in client.heard:
        match heard:
            case Update(update=update):
                seq, is_same = update.seq, _is_row(heard, client.player, steps)
            case Snapshot(view=view):
                seq, is_same = view.seq, _is_look(heard, client.player, steps)
            case _:
                continue
        if not is_same:
            kind = type(heard).__name__.lower()
            yield Finding(
                SHOWN, client.table_id, client.player, f"the {kind} of row {seq} differs from it"
            )


def _is_row(heard: Update, player: str, steps: Sequence[Step]) -> bool:
    if not 0 < heard.update.seq <= len(steps):
        return False
    step = steps[heard.update.seq - 1]
    seat = step.before.seat_of(player) if step.before is not None else SPECTATOR
    viewers = viewers_along(step.row.events, player, seat)
    pairs = zip(step.row.events, viewers, strict=True)
    return [event_message(*pair) for pair in pairs] == list(heard.update.events)


def _is_look(heard: Snapshot, player: str, steps: Sequence[Step]) -> bool:
    if not 0 < heard.view.seq <= len(steps):
        return False
    state = steps[heard.view.seq - 1].after
    viewer = state.seat_of(player)
    return heard.view == view_message(state, viewer, heard.view.seq, heard.view.server_time_ms, {})
