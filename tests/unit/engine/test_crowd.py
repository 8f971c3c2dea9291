"""Many who watch one table, some slow, some gone: the others and the table notice nothing."""

import asyncio
from pathlib import Path

import pytest

from okey.api.engine.v1 import engine_pb2
from okey_runtime.identity import Identity, Role
from okey_runtime.revocation import Revocations
from okey_runtime.unread import StreamNotRead
from services.engine import watching as watching_module
from services.engine.actor import TableActor
from services.engine.following import From, follow, watching
from services.engine.watching import MOST_UNREAD, Shown, StreamEndReason, Watcher
from tests.unit.engine.world import (
    FOR_EVER_MS,
    World,
    mover,
    next_of,
    plain_move,
    world_in,
)

CROWD = 1_000
SLOW_READER = StreamEndReason.STREAM_END_REASON_SLOW_READER
START = From(None, with_view=False)


def spectator(name: str) -> Identity:
    return Identity(name, frozenset({Role.PLAYER}), "", FOR_EVER_MS)


class Reader:
    """A stream whose other end reads only when ``reads`` is set."""

    def __init__(self, world: World, actor: TableActor, name: str) -> None:
        self.reads = asyncio.Event()
        self.reads.set()
        self.got: list[bytes] = []
        self.end: engine_pb2.StreamEnd | None = None
        self.task = asyncio.create_task(self._serve(world, actor, spectator(name)))

    async def _serve(self, world: World, actor: TableActor, identity: Identity) -> None:
        with watching(actor, identity, START, Revocations(world.steady)) as self.watcher:
            self.end = await follow(actor, self.watcher, START, world.steady, self._write)

    async def _write(self, content: bytes) -> None:
        await self.reads.wait()
        self.got.append(content)


async def moves(world: World, actor: TableActor, count: int) -> None:
    for _ in range(count):
        await actor.submit(plain_move(actor), world.request(mover(actor)))


async def test_a_thousand_watchers_share_each_row_and_miss_none(tmp_path: Path) -> None:
    """What is kept for a crowd is one copy of each row, whatever its size."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        crowd = [actor.watchers.add(f"zoe-{n}", with_view=n % 2 == 0) for n in range(CROWD)]
        await moves(world, actor, 8)
        rows: list[set[int]] = [set() for _ in range(8)]
        seqs: set[tuple[int, ...]] = set()
        for watcher in crowd:
            shown = [await row_of(watcher) for _ in range(8)]
            seqs.add(tuple(each.seq for each in shown))
            for row, each in zip(rows, shown, strict=True):
                row.add(id(each.wire))
        assert seqs == {tuple(range(actor.seq - 7, actor.seq + 1))}
        assert [len(row) for row in rows] == [2] * 8, "with view and without"
        for watcher in crowd:
            actor.watchers.remove(watcher)
        assert len(actor.watchers) == 0


async def row_of(watcher: Watcher) -> Shown:
    shown = await next_of(watcher)
    assert isinstance(shown, Shown)
    return shown


async def test_slow_readers_are_cut_and_the_others_get_everything(tmp_path: Path) -> None:
    """A bound each: whoever does not read holds nothing once it is cut, and no other is late."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        quick = Reader(world, actor, "quick")
        await world.settled()
        slow = [actor.watchers.add(f"slow-{n}", with_view=False) for n in range(50)]
        last = actor.seq + MOST_UNREAD + 1
        for seq in range(actor.seq + 1, last + 1):
            for watcher in [*slow, quick.watcher]:
                watcher.give(Shown(seq, b"row"))
            await world.settled()
        assert [await next_of(watcher) for watcher in slow] == [SLOW_READER] * 50
        assert len(quick.got) == 1 + MOST_UNREAD + 1
        assert quick.end is None
        quick.task.cancel()
        for watcher in slow:
            actor.watchers.remove(watcher)


async def test_who_does_not_even_read_its_end_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is stuck in the middle of a message takes up no place for ever."""
    monkeypatch.setattr(watching_module, "CUT_AFTER_S", 0.01)
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        stuck = Reader(world, actor, "stuck")
        await world.settled()
        stuck.reads.clear()
        for seq in range(actor.seq + 1, actor.seq + MOST_UNREAD + 3):
            stuck.watcher.give(Shown(seq, b"row"))
            await world.settled()
        await asyncio.wait([stuck.task], timeout=10)
        assert isinstance(stuck.task.exception(), StreamNotRead)
        assert len(actor.watchers) == 0


async def test_who_has_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    """The connection is lost: gRPC cancels the stream, and its place is free."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        crowd = [Reader(world, actor, f"zoe-{n}") for n in range(20)]
        await world.settled()
        assert len(actor.watchers) == 20
        for reader in crowd[::2]:
            reader.task.cancel()
        await asyncio.wait([reader.task for reader in crowd[::2]])
        await moves(world, actor, 2)
        await world.settled()
        assert len(actor.watchers) == 10
        assert {len(reader.got) for reader in crowd[1::2]} == {3}
        for reader in crowd:
            reader.task.cancel()
