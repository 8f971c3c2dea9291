"""Following a table: a snapshot or the missed rows, then live ones, and a reason at the end."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table.view import view
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from services.engine.actor import TableActor
from services.engine.watching import Sent, Shown, StreamEndReason, Watcher
from services.engine.wire import named_view, prompt_message

Followed = table_pb2.TableView | Sent | engine_pb2.StreamEnd


@dataclass(frozen=True, slots=True)
class From:
    """Where a stream begins: after a row, or (None) with a snapshot."""

    after_seq: int | None
    with_view: bool


@contextmanager
def watching(actor: TableActor, identity: Identity, start: From, clock: Clock) -> Iterator[Watcher]:
    """A place among the table's watchers until the block is left, or the caller's token ends.

    The task that holds it is cancelled where a stream that was to end is not read.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "streams are served by tasks"
    watcher = actor.watchers.add(identity.player, with_view=start.with_view, cut=task.cancel)
    left_s = max(0, identity.expires_ms - clock.now_ms()) / 1000
    expiry = loop.call_later(left_s, watcher.end, StreamEndReason.STREAM_END_REASON_TOKEN_EXPIRED)
    try:
        yield watcher
    finally:
        expiry.cancel()
        actor.watchers.remove(watcher)


async def follow(
    actor: TableActor, watcher: Watcher, start: From, clock: Clock
) -> AsyncGenerator[Followed, None]:
    """Everything that happens at the table from the cursor on, as the watcher may see it then.

    To be called when the watcher has just been added, so that nothing is missed or sent twice.
    """
    seq = actor.seq if start.after_seq is None else start.after_seq
    for first in _first(actor, watcher.player, start, clock.now_ms()):
        seq = first.seq
        yield first
    if actor.table.is_done:
        watcher.end(StreamEndReason.STREAM_END_REASON_TABLE_CLOSED)
    while True:
        given = await watcher.next()
        if isinstance(given, Shown):
            seq = given.seq
        elif not isinstance(given, engine_pb2.CommandResult):
            yield engine_pb2.StreamEnd(reason=given, seq=seq)
            return
        yield given


def _first(
    actor: TableActor, player: str, start: From, now_ms: int
) -> list[table_pb2.TableView | Shown]:
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
    return [Shown.of(update) for update in updates]
