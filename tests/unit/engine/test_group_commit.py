"""Batches: at once where it is quiet, together where rows come close to each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from okey_runtime.clock import VirtualClock
from okey_runtime.database import DatabaseRefused
from services.engine.appending import Append, Verdict
from services.engine.group_commit import GroupCommit


class Batches:
    """A store that takes everything."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def append(self, batch: list[Append]) -> list[Verdict]:
        self.sizes.append(len(batch))
        return [None] * len(batch)


@asynccontextmanager
async def committing(store: Batches, every_ms: int) -> AsyncIterator[GroupCommit]:
    commit = GroupCommit(store, VirtualClock(), every_ms)
    running = asyncio.create_task(commit.run())
    try:
        yield commit
    finally:
        running.cancel()


def row(number: int) -> Append:
    return Append(f"{number:026}", 2, at_ms=1, payload=b"")


async def test_rows_that_follow_a_commit_closely_go_together() -> None:
    store = Batches()
    async with committing(store, every_ms=300) as commit:
        await commit.append(row(0))
        second = asyncio.create_task(commit.append(row(1)))
        for _ in range(5):
            await asyncio.sleep(0)
        await commit.append(row(2))
        await second
    assert store.sizes == [1, 2]


async def test_a_full_batch_waits_for_nothing() -> None:
    store = Batches()
    async with committing(store, every_ms=60_000) as commit:
        await commit.append(row(0))
        rows = [asyncio.create_task(commit.append(row(number))) for number in range(1, 300)]
        await rows[0]
        assert store.sizes == [1, 256]
        assert commit.waiting == 43
        for task in rows:
            task.cancel()


class Choosy(Batches):
    """A store that refuses a transaction for what one of its rows holds."""

    def __init__(self, refused: int) -> None:
        super().__init__()
        self._refused = row(refused).table_id

    async def append(self, batch: list[Append]) -> list[Verdict]:
        verdicts = await super().append(batch)
        if any(each.table_id == self._refused for each in batch):
            raise DatabaseRefused("a constraint that nobody expected")
        return verdicts


async def test_a_row_that_the_database_refuses_harms_no_other() -> None:
    """Whose it is comes out when each is written alone; the others go in."""
    store = Choosy(refused=1)
    async with committing(store, every_ms=0) as commit:
        outcomes = await asyncio.gather(
            *(commit.append(row(number)) for number in range(4)), return_exceptions=True
        )
    assert [type(each) for each in outcomes] == [
        type(None),
        DatabaseRefused,
        type(None),
        type(None),
    ]
    assert store.sizes == [4, 1, 1, 1, 1]
