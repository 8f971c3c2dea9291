"""An engine with a few tables, and a database that does what a test wants."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from okey.errors import OkeyError
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table.config import TableConfig
from okey_runtime.database import DatabaseAway
from services.engine.actor import TableActor
from tests.failpoints.faults import Writes, watch
from tests.unit.engine.world import World, mover, plain_move, turn_of, until

TABLES: Final = 4


@dataclass(frozen=True)
class Storm:
    """An engine with tables at which a turn runs, and what its database is made to do."""

    world: World
    writes: Writes
    tables: list[TableActor]

    @contextmanager
    def of(self, error: str, *, reads_too: bool = False) -> Iterator[None]:
        """The database fails so in the block."""
        self.writes.error, self.writes.reads_too = error, reads_too
        yield
        self.writes.error = ""

    async def moved(self, actor: TableActor) -> bool:
        """The table's player moves; whether that is accepted, and no outage."""
        table = await self.back(actor)
        try:
            await table.submit(plain_move(table), self.world.request(mover(table)))
        except DatabaseAway:
            return False
        return True

    async def told(self, actor: TableActor) -> OkeyError:
        """The answer to a player who moves now."""
        try:
            table = await self.world.tables.get(actor.table_id)
            await table.submit(plain_move(table), self.world.request(mover(table)))
        except OkeyError as error:
            return error
        raise AssertionError("it was accepted")

    async def back(self, actor: TableActor) -> TableActor:
        """The table once its clock goes again."""
        await self.world.standstill.over()
        again = await self.world.reloaded(actor)
        await until(again, lambda _: turn_of(again).deadline_ms > self.world.steady.now_ms())
        return again


@asynccontextmanager
async def storm_on(folder: Path, url: str = "") -> AsyncIterator[Storm]:
    """On a file of the folder, or on the database of the URL."""
    world, writes = World(folder), Writes()
    world.url = url or world.url
    world.has_real_members = True
    world.on_database = lambda database: watch(database, "engine", writes)
    await world.start()
    try:
        yield Storm(world, writes, [await _dealt(world, number) for number in range(TABLES)])
    finally:
        writes.error = ""
        await world.stop()


async def _dealt(world: World, number: int) -> TableActor:
    config = TableConfig(f"{number:026d}", seat_count=2, rules=DEFAULT_RULE_SET)
    return await world.dealt(config, (f"anna{number}", f"bert{number}"))
