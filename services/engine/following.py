"""Following a table: a snapshot or the missed rows, then live ones, and a reason at the end."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table.view import view
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from services.engine.actor import TableActor
from services.engine.watching import StreamEndReason
from services.engine.wire import named_view, prompt_message

Followed = table_pb2.TableView | engine_pb2.TableUpdate | engine_pb2.StreamEnd


@dataclass(frozen=True, slots=True)
class From:
    """Where a stream begins: after a row, or (None) with a snapshot."""

    after_seq: int | None
    with_view: bool


async def follow(
    actor: TableActor, identity: Identity, start: From, clock: Clock
) -> AsyncGenerator[Followed, None]:
    """Everything that happens at the table from the cursor on, as the caller may see it then."""
    watcher = actor.watchers.add(identity.player, with_view=start.with_view)
    seq = actor.seq if start.after_seq is None else start.after_seq
    try:
        for first in _first(actor, identity.player, start, clock.now_ms()):
            seq = first.seq
            yield first
        if actor.table.is_done:
            watcher.end(StreamEndReason.STREAM_END_REASON_TABLE_CLOSED)
        while True:
            given = await watcher.next(identity.expires_ms, clock)
            if not isinstance(given, engine_pb2.TableUpdate):
                yield engine_pb2.StreamEnd(reason=given, seq=seq)
                return
            seq = given.seq
            yield given
    finally:
        actor.watchers.remove(watcher)


def _first(
    actor: TableActor, player: str, start: From, now_ms: int
) -> list[table_pb2.TableView | engine_pb2.TableUpdate]:
    """Made at the moment when the watcher was added, so that nothing is missed or sent twice."""
    seen = view(actor.table, actor.table.seat_of(player))
    updates = None
    if start.after_seq is not None:
        updates = actor.watchers.missed(player, start.after_seq, actor.seq, now_ms, actor.names)
    if updates is None:
        return [named_view(seen, actor.seq, now_ms, actor.names)]
    if updates:
        updates[-1].prompt.CopyFrom(prompt_message(seen))
        if start.with_view:
            updates[-1].view.CopyFrom(named_view(seen, actor.seq, now_ms, actor.names))
    return [*updates]
