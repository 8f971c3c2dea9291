"""After a start tables load in the order of their clocks, again where the database fails."""

import asyncio
from collections.abc import Awaitable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table.config import TableConfig
from okey.table.state import SeatStatus
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database, DatabaseAway, Work
from services.engine.errors import TableQuarantined
from services.engine.journal import Unretired
from services.engine.recovery import Recovery
from services.engine.shards import shard_of
from tests.unit.engine.world import TABLE_ID, mover, plain_move, turn_of, until, world_in

SINCE_MS = 7


def since(_: str) -> int:
    return SINCE_MS


async def loaded(recovery: Recovery) -> None:
    """Run it until everything is loaded."""
    running = asyncio.create_task(recovery.run())
    async with asyncio.timeout(10):
        await recovery.over()
    running.cancel()


class Loads:
    """What was asked to be loaded, in order; ``failures`` are raised first."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.failures: list[Exception] = []

    async def __call__(self, table_id: str, last_alive_ms: int) -> object:
        assert last_alive_ms == SINCE_MS
        self.order.append(table_id)
        if self.failures:
            raise self.failures.pop(0)
        self.recovery.drop(table_id)
        return None

    recovery: Recovery


@pytest.fixture
def loads() -> Loads:
    made = Loads()
    made.recovery = Recovery(VirtualClock(), made)
    return made


async def test_tables_load_in_the_order_of_their_clocks(loads: Loads) -> None:
    """Those without a clock wait for an answer, and those of an old version may have any."""
    deadlines = {"late": 900, "answer": 0, "soon": 100, "old": None, "later": 901}
    loads.recovery.add([Unretired(table, at) for table, at in deadlines.items()], since)
    assert loads.recovery.last_alive_ms("soon") == SINCE_MS
    await loaded(loads.recovery)
    assert loads.order == ["answer", "old", "soon", "late", "later"]
    assert loads.recovery.is_over
    assert loads.recovery.last_alive_ms("soon") == VirtualClock().now_ms()


async def test_a_table_that_somebody_asked_for_is_not_loaded_again(loads: Loads) -> None:
    loads.recovery.add([Unretired("a", 1), Unretired("b", 2)], since)
    loads.recovery.drop("b")
    await loaded(loads.recovery)
    assert loads.order == ["a"]


async def test_a_database_that_fails_is_asked_again_and_an_unreadable_table_is_not(
    loads: Loads,
) -> None:
    loads.recovery.add([Unretired("a", 1), Unretired("b", 2)], since)
    loads.failures = [DatabaseAway("as the test says"), TableQuarantined("as the test says")]
    await loaded(loads.recovery)
    assert sorted(loads.order) in (["a", "a", "b"], ["a", "b", "b"])
    assert loads.recovery.is_over


OTHER = TableConfig("o" * 26, seat_count=2, rules=DEFAULT_RULE_SET)


async def test_an_engine_serves_while_it_loads(tmp_path: Path) -> None:
    """Whoever asks for a table gets it at once, though another one takes for ever."""
    async with world_in(tmp_path) as world:
        await world.dealt()
        actor = await world.dealt(OTHER, ("cem", "deniz"))
        left_ms = turn_of(actor).deadline_ms - world.steady.now_ms()
        await world.crash()
        world.clock.advance_ms(500_000)
        await world.boot(stuck=TABLE_ID)
        again = await world.tables.get(OTHER.table_id)
        assert turn_of(again).deadline_ms - world.steady.now_ms() == left_ms
        await again.submit(plain_move(again), world.request(mover(again)))
        assert not world.tables.unloaded_shards() - {shard_of(TABLE_ID)}
        assert world.tables.unloaded_shards()


async def test_crashes_while_tables_are_loaded_take_no_time_from_those_that_were_not(
    tmp_path: Path,
) -> None:
    """U4: renewals repeat the last one of the engine before until every table is loaded."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await world.sharing.renew()
        left_ms = turn_of(actor).deadline_ms - world.steady.now_ms()
        await world.crash()
        for _ in range(3):
            world.clock.advance_ms(10_000)
            await world.boot(stuck=TABLE_ID)
            await world.pass_ms(5_000)
            await world.crash()
        await world.boot()
        again = await world.tables.get(TABLE_ID)
        assert turn_of(again).deadline_ms - world.steady.now_ms() == left_ms


async def test_every_row_says_when_the_next_clock_rings(tmp_path: Path) -> None:
    """So that the order is known before any replay."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        [waiting] = await world.journal.unretired("", 10)
        assert waiting == Unretired(TABLE_ID, actor.table.idle_deadline_ms)


async def test_tables_that_come_together_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: a few transactions for thirty, not several for each."""
    table_ids = [letter * 26 for letter in "abcdefghijklmnopqrstuvwxyz234567"]
    async with world_in(tmp_path) as world:
        for table_id in table_ids:
            config = TableConfig(table_id, seat_count=2, rules=DEFAULT_RULE_SET)
            actor = await world.open(config, f"player-{table_id[:1]}")
            await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        await world.crash()
        reads, read = count(), Database.read

        def counted(self: Database, work: Work[Any]) -> Awaitable[Any]:
            next(reads)
            return read(self, work)

        monkeypatch.setattr(Database, "read", counted)
        await world.boot()
        assert next(reads) <= len(table_ids) // 2
        live = world.tables.live()
    assert [actor.table_id for actor in live] == sorted(table_ids)
    for actor in live:
        player = f"player-{actor.table_id[:1]}"
        assert actor.table.seats[0].player == player
        assert actor.names == {player: player.title()}
