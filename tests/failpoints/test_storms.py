"""A database that fails for a while, with every kind of error: no table stops for good, no clock
counts it, and callers learn only that they should try again.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from okey.errors import Exhausted, Unavailable
from okey_runtime import backoff
from services.engine import reloads
from tests.failpoints.faults import SQLITE_ERRORS, SQLSTATES
from tests.failpoints.storm import Storm, storm_on
from tests.fixtures.postgres import PostgresServer
from tests.unit.engine.world import mover, plain_move, turn_of

STORM_MS = 8_000


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.01)
    monkeypatch.setattr(reloads, "WAIT_S", 0.01)


@pytest.fixture(params=["sqlite", "postgresql"])
async def storm(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storm]:
    url = ""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database()
    async with storm_on(tmp_path, url) as made:
        yield made


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
