"""The copy of the engine's list in Redis: renewed once for all replicas, kept while nobody can."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from redis.asyncio import Redis

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey_runtime.channel import open_channel
from okey_runtime.clock import VirtualClock
from okey_runtime.errors import RpcFailure
from okey_runtime.identity import Role
from okey_runtime.redis import open_redis
from services.lobby.engine_tables import EngineTables
from services.lobby.table_list import KEEP_MS, RENEWAL_MS, TableList, TableListUnavailable
from tests.fixtures.issuer import Issuer
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fake_engine import FakeEngine, fake_engine

OPEN = "w" * 26
FOR_TWO = engine_pb2.OpenTableRequest(seat_count=2, stake=50)


class World:
    """Two replicas' lists around one engine and one Redis."""

    def __init__(
        self, engine: FakeEngine, redis: Redis, lists: list[TableList], clock: VirtualClock
    ) -> None:
        self.engine = engine
        self.redis = redis
        self.first, self.second = lists
        self._clock = clock

    async def time_to_renew(self) -> None:
        """The renewal's key has run out, and nobody remembers what it has read."""
        await self.redis.delete("okey:{tables}:renewal")
        self._clock.advance_ms(RENEWAL_MS)


@pytest.fixture
async def world(valkey: Valkey, tmp_path: Path) -> AsyncIterator[World]:
    issuer, clock = Issuer(tmp_path), VirtualClock()
    async with AsyncExitStack() as stack:
        app, address = await stack.enter_async_context(fake_engine(issuer.jwks_file))
        own = open_channel(address, token=issuer.metadata("lobby-service", Role.LOBBY))
        redis = open_redis(valkey.url)
        stack.push_async_callback(own.close)
        stack.push_async_callback(redis.aclose)
        engine = EngineTables(own, own)
        lists = [TableList(redis, engine, clock) for _ in range(2)]
        yield World(app.engine, redis, lists, clock)


async def ids(tables: TableList) -> list[str]:
    return [table.table_id for table in (await tables.newest()).tables]


async def test_one_replica_renews_for_all(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO)
    await world.first.renew_if_due()
    await world.second.renew_if_due()
    assert world.engine.times_listed == 1
    assert await ids(world.first) == await ids(world.second) == [OPEN]


async def test_a_closed_table_is_gone_with_the_next_copy(world: World) -> None:
    table = world.engine.put(OPEN, FOR_TWO)
    await world.first.renew_if_due()
    assert await ids(world.second) == [OPEN]
    table.phase = table_pb2.PHASE_CLOSED
    await world.time_to_renew()
    await world.second.renew_if_due()
    assert await ids(world.second) == []


async def test_an_engine_that_is_away_for_a_moment_delists_nobody(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO)
    await world.first.renew_if_due()
    world.engine.is_away = True
    await world.time_to_renew()
    with pytest.raises(RpcFailure):
        await world.first.renew_if_due()
    assert await ids(world.first) == [OPEN]


async def test_a_copy_is_not_shown_for_ever(world: World) -> None:
    await world.first.renew_if_due()
    assert 0 < await world.redis.pttl("okey:{tables}:list") <= KEEP_MS


async def test_without_a_copy_there_is_no_list(world: World) -> None:
    with pytest.raises(TableListUnavailable, match="being made"):
        await world.first.newest()
    await world.redis.set("okey:{tables}:list", b"\xff")
    with pytest.raises(TableListUnavailable, match="holds no list"):
        await world.first.newest()


async def test_what_was_read_is_remembered_for_a_moment(world: World, valkey: Valkey) -> None:
    world.engine.put(OPEN, FOR_TWO)
    await world.first.renew_if_due()
    assert await ids(world.first) == [OPEN]
    valkey.kill()
    assert await ids(world.first) == [OPEN]
    with pytest.raises(TableListUnavailable):
        await world.second.newest()
