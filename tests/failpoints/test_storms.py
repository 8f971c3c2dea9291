"""A database that fails for a while, with every kind of error: no table stops for good, no clock
counts it, and nobody is told anything but to try again.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from okey.errors import Exhausted, OkeyError, Unavailable
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table.config import TableConfig
from okey_runtime import backoff
from services.engine.actor import TableActor
from tests.failpoints.faults import SQLITE_ERRORS, SQLSTATES, Writes, watch
from tests.fixtures.postgres import PostgresServer
from tests.unit.engine.world import World, mover, plain_move, turn_of, until

TABLES = 4
STORM_MS = 8_000
GRACE_MS = DEFAULT_RULE_SET.takeover_grace_ms


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

    async def told(self, actor: TableActor) -> OkeyError:
        """What a player is told who moves now."""
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


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.01)


@pytest.fixture(params=["sqlite", "postgresql"])
async def storm(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storm]:
    world, writes = World(tmp_path), Writes()
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        world.url = server.create_database()
    world.has_real_members = True
    world.on_database = lambda database: watch(database, "engine", writes)
    await world.start()
    try:
        yield Storm(world, writes, [await dealt(world, number) for number in range(TABLES)])
    finally:
        writes.error = ""
        await world.stop()


async def dealt(world: World, number: int) -> TableActor:
    config = TableConfig(f"{number:026d}", seat_count=2, rules=DEFAULT_RULE_SET)
    return await world.dealt(config, (f"anna{number}", f"bert{number}"))


def error_of(storm: Storm, state: str, name: str) -> str:
    return name if storm.world.database.dialect == "sqlite" else state


async def weathered(storm: Storm, error: str, *, reads_too: bool = False) -> None:
    """Eight seconds of it, while players move and clocks are due; then all goes on."""
    world = storm.world
    world.clock.advance_ms(10_000)
    lefts = {a.table_id: turn_of(a).deadline_ms - world.steady.now_ms() for a in storm.tables}
    turns = {a.table_id: turn_of(a).number for a in storm.tables}
    with storm.of(error, reads_too=reads_too):
        for actor in storm.tables:
            assert isinstance(await storm.told(actor), Unavailable | Exhausted)
        for _ in range(STORM_MS // 500):
            world.clock.advance_ms(500)
            await world.settled()
        assert isinstance(await storm.told(storm.tables[0]), Unavailable | Exhausted)
    for number, actor in enumerate(storm.tables):
        again = storm.tables[number] = await storm.back(actor)
        left_ms = turn_of(again).deadline_ms - world.steady.now_ms()
        assert lefts[actor.table_id] - 2_500 <= left_ms <= lefts[actor.table_id]
        assert turn_of(again).number == turns[actor.table_id]
        assert (await again.submit(plain_move(again), world.request(mover(again)))).events
    assert not world.tables.quarantine.tables
    assert overdue() == 0


def overdue() -> float | None:
    return REGISTRY.get_sample_value("okey_engine_overdue_tables")


@pytest.mark.parametrize(("state", "name"), [("53100", "FULL"), ("57014", "INTERRUPT")])
async def test_tables_outlive_a_database_that_fails(storm: Storm, state: str, name: str) -> None:
    """U4: a full disk, statements that are cancelled: nobody loses time, no table is lost."""
    await weathered(storm, error_of(storm, state, name))


@pytest.mark.parametrize(("state", "name"), [("23514", "CONSTRAINT")])
async def test_tables_outlive_refusals_that_nobody_foresaw(
    storm: Storm, state: str, name: str
) -> None:
    """What was tried is refused at its own table; that is loaded again until it works."""
    await weathered(storm, error_of(storm, state, name))


@pytest.mark.long
@pytest.mark.timeout(1_800)
async def test_tables_outlive_every_error(storm: Storm) -> None:
    """U4: of every class, in writes and in everything."""
    errors = SQLITE_ERRORS if storm.world.database.dialect == "sqlite" else SQLSTATES
    for error in errors:
        for reads_too in (False, True):
            await weathered(storm, error, reads_too=reads_too)
