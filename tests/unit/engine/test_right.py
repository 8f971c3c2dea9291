"""Up to when everything was right: from then on clocks get back what an outage took."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.engine.accepted import Accepted
from services.engine.right import Right
from services.engine.shards import shard_of
from tests.unit.engine.world import TABLE_ID, World, world_in

PAUSE_MS = 10_000


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_in(tmp_path) as made:
        yield made


def right_of(world: World) -> Right:
    right = Right(world.steady, world.standstill, world.tables)
    right.begin()
    return right


async def test_a_renewal_that_runs_first_after_a_pause_does_not_hide_it(world: World) -> None:
    """U4: an engine that dies right after it was paused has told nobody that its clocks went."""
    world.watch_the_process()
    await world.settled()
    right = right_of(world)
    before_ms = right.ms()
    world.clock.advance_ms(PAUSE_MS)
    assert right.ms() == before_ms


async def test_all_is_right_again_once_the_take_overs_are_committed(world: World) -> None:
    right = right_of(world)
    stopped_ms = right.ms()
    taking: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
    world.standstill.begin(stopped_ms, "DATABASE_AWAY")
    assert right.ms() == stopped_ms
    world.clock.advance_ms(PAUSE_MS)
    world.standstill.end()
    right.go_on([taking])
    assert right.ms() == right.before_giving() == stopped_ms
    taking.set_result(Accepted(1, ()))
    assert right.ms() == stopped_ms + PAUSE_MS
    assert right.before_giving() is None


async def test_clocks_of_a_table_that_is_not_taken_over_yet_are_not_settled(world: World) -> None:
    """U4: if the engine dies now, the next one still needs the moment when they stopped."""
    await world.dealt()
    appends = world.journal.appends
    world.journal.hold()
    releasing = asyncio.create_task(world.interventions.release(TABLE_ID))
    async with asyncio.timeout(10):
        while world.journal.appends == appends:
            await world.settled()
    assert shard_of(TABLE_ID) in world.tables.unloaded_shards()
    world.journal.let_go()
    await releasing
    await world.settled()
    assert shard_of(TABLE_ID) not in world.tables.unloaded_shards()
