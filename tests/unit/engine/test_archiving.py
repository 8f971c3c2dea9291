"""Closed tables move to the archive when their time has come, and nothing reads otherwise."""

import asyncio
from pathlib import Path

from okey.table import commands as c
from okey_runtime.database import DatabaseAway
from services.engine.archive import Archive
from services.engine.archiving import Archiving
from tests.unit.engine.world import TABLE_ID, World, world_in

AFTER_MS = 1_000_000
FAR_MS = 1 << 60


class FailingOnce(Archive):
    """An archive whose first look finds no database."""

    failures = 1

    async def due(self, closed_before_ms: int, most: int) -> list[str]:
        if self.failures:
            self.failures -= 1
            raise DatabaseAway("away, as the test says")
        return await super().due(closed_before_ms, most)


async def closed(world: World) -> None:
    """A table that is closed, and of which every sink was told."""
    actor = await world.open()
    await actor.submit(c.LeaveSeat("anna"), world.request("anna"))
    async with asyncio.timeout(10):
        while await world.journal.unretired("", 1):
            pass


async def test_a_table_is_archived_when_it_was_closed_long_enough(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await closed(world)
        rows = await world.journal.rows(TABLE_ID)
        archiving = Archiving(Archive(world.database), world.steady, AFTER_MS, pause_ms=0)
        world.clock.advance_ms(AFTER_MS)
        assert await archiving.move_due() == 0
        world.clock.advance_ms(1)
        assert await archiving.move_due() == 1
        assert await archiving.move_due() == 0
        assert await world.journal.rows(TABLE_ID) == rows
        await world.crash()
        await world.boot()
        again = await world.tables.get(TABLE_ID)
        assert (again.table.is_done, again.seq) == (True, rows[-1].seq)


async def test_it_looks_every_minute_and_again_after_an_outage(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await closed(world)
        archive = FailingOnce(world.database)
        world.clock.advance_ms(AFTER_MS + 1)
        archiving = Archiving(archive, world.steady, AFTER_MS, pause_ms=0)
        running = asyncio.create_task(archiving.run())
        async with asyncio.timeout(10):
            while archive.failures or await Archive.due(archive, FAR_MS, 1):
                world.clock.advance_ms(60_000)
                await asyncio.sleep(0)
        running.cancel()


async def test_nothing_is_archived_where_it_shall_not_be(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await closed(world)
        world.clock.advance_ms(AFTER_MS)
        await Archiving(Archive(world.database), world.steady, after_ms=0).run()
        assert await Archive(world.database).due(world.steady.now_ms(), 1) == [TABLE_ID]
