"""Following a table: a snapshot or the missed rows, then live ones, and a reason at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from okey.api.engine.v1 import engine_pb2
from okey.table.view import view
from okey_runtime.clock import Clock
from okey_runtime.errors import Unauthenticated
from okey_runtime.identity import Identity
from okey_runtime.revocation import Revocations, SessionReplaced, TokenRevoked
from okey_runtime.unread import Cut
from services.engine.actor import TableActor
from services.engine.errors import NotOwner
from services.engine.metrics import REDIRECTED
from services.engine.watching import Shown, StreamEndReason, Watcher
from services.engine.wire import named_view, prompt_message

Write = Callable[[bytes], Awaitable[None]]
"""Sends one message of a stream, a ``PlayResponse`` or ``WatchTableResponse``."""

_REVOKED: Final[Mapping[type[Unauthenticated], StreamEndReason.ValueType]] = {
    TokenRevoked: StreamEndReason.STREAM_END_REASON_TOKEN_REVOKED,
    SessionReplaced: StreamEndReason.STREAM_END_REASON_SESSION_REPLACED,
}
"""How streams tell why the caller's token ended before it expired."""


@dataclass(frozen=True, slots=True)
class From:
    """Where a stream begins: after a row, or (None) with a snapshot."""

    after_seq: int | None
    with_view: bool


@contextmanager
def watching(
    actor: TableActor, identity: Identity, start: From, revocations: Revocations
) -> Iterator[Watcher]:
    """A place among the table's watchers until the block is left, or the caller's token ends.

    Raises ``StreamNotRead`` in the task that holds it where a stream that was to end is not read.
    """
    cut = Cut()
    watcher = actor.watchers.add(identity.player, with_view=start.with_view, cut=cut.now)

    def end(why: Unauthenticated) -> None:
        watcher.end(_REVOKED.get(type(why), StreamEndReason.STREAM_END_REASON_TOKEN_EXPIRED))

    try:
        with revocations.until_end(identity, end), cut.telling():
            yield watcher
    finally:
        actor.watchers.remove(watcher)


async def follow(
    actor: TableActor, watcher: Watcher, start: From, clock: Clock, write: Write
) -> engine_pb2.StreamEnd:
    """Write everything that happens at the table from the cursor on, as the watcher may see it
    then; returns why it is over, for the stream's last message.

    To be called when the watcher has just been added, so that nothing is missed or sent twice.
    """
    seq = actor.seq if start.after_seq is None else start.after_seq
    first = _first(actor, watcher.player, start, clock.now_ms())
    if actor.table.is_done:
        watcher.end(StreamEndReason.STREAM_END_REASON_TABLE_CLOSED)
    # In a task of its own: what resumes with each message goes through every layer around it.
    return await asyncio.create_task(_write_all(first, seq, watcher, write))


async def _write_all(
    first: list[Shown], seq: int, watcher: Watcher, write: Write
) -> engine_pb2.StreamEnd:
    for shown in first:
        await write(shown.wire)
        seq = shown.seq
    while True:
        given = watcher.take()
        if given is None:
            await watcher.news()
        elif isinstance(given, int):
            return engine_pb2.StreamEnd(reason=given, seq=seq, address=watcher.moved_to)
        else:
            await write(given.wire)
            if isinstance(given, Shown):
                seq = given.seq
            else:
                given.written()


def elsewhere(refusal: NotOwner, after_seq: int | None) -> engine_pb2.StreamEnd:
    """The end of a stream that was opened at the wrong engine: where to open it instead."""
    REDIRECTED.inc()
    return engine_pb2.StreamEnd(
        reason=engine_pb2.StreamEndReason.STREAM_END_REASON_NOT_OWNER,
        seq=after_seq or 0,
        address=refusal.address,
    )


def _first(actor: TableActor, player: str, start: From, now_ms: int) -> list[Shown]:
    seen = view(actor.table, actor.table.seat_of(player))
    updates = None
    if start.after_seq is not None:
        updates = actor.watchers.missed(player, start.after_seq, actor.seq, now_ms, actor.names)
    if updates is None:
        return [Shown.whole(named_view(seen, actor.seq, now_ms, actor.names))]
    if updates:
        updates[-1].prompt.CopyFrom(prompt_message(seen))
        if start.with_view:
            updates[-1].view.CopyFrom(named_view(seen, actor.seq, now_ms, actor.names))
    return [Shown.of(update) for update in updates]
