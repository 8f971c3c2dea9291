"""Every stream is gapless, across breaks too, and ends when everything was sent."""

from collections.abc import Iterator

from okey.api.engine.v1 import engine_pb2
from tests.chaos.tables.history import ClientHistory, Ended, Finding, Opened, Snapshot, Update
from tests.chaos.tables.replay import Replays

GAPLESS = "seq gapless"

_CLOSED = engine_pb2.StreamEndReason.Name(engine_pb2.STREAM_END_REASON_TABLE_CLOSED)


def check_streams(client: ClientHistory, replays: Replays) -> Iterator[Finding]:
    """What one client heard goes from row to row, never backwards, to the end of the table."""

    def found(text: str) -> Finding:
        return Finding(GAPLESS, client.table_id, client.player, text)

    cursor: int | None = None
    is_first = False
    for heard in client.heard:
        match heard:
            case Opened():
                is_first = True
            case Snapshot(view=view):
                if not is_first:
                    yield found(f"a snapshot of row {view.seq} came in mid-stream")
                if cursor is not None and view.seq < cursor:
                    yield found(f"row {cursor} was shown, then a snapshot of row {view.seq}")
                cursor, is_first = view.seq, False
            case Update(update=update):
                if cursor is None:
                    yield found(f"row {update.seq} came before any snapshot")
                elif update.seq != cursor + 1:
                    yield found(f"row {update.seq} came after row {cursor}")
                cursor, is_first = update.seq, False
            case Ended(reason=reason):
                last = len(replays.get(client.table_id, ()))
                if reason == _CLOSED and cursor != last:
                    yield found(f"the table has {last} rows, the stream closed after row {cursor}")
