"""The copy of the engine's list in Redis: renewed once for all replicas, kept while nobody can."""

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

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
WATCHED = ("evalsha", "get", "set")
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
        self.pass_ms(RENEWAL_MS)

    def pass_ms(self, ms: int) -> None:
        self._clock.advance_ms(ms)

    async def commands(self) -> Counter[str]:
        """How often each command was called, those apart that ask."""
        stats = await self.redis.info("commandstats")
        counts = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
        return Counter({name: count for name, count in counts.items() if name in WATCHED})


@pytest.fixture
async def world(valkey: Valkey, tmp_path: Path) -> AsyncIterator[World]:
    issuer, clock = Issuer(tmp_path), VirtualClock()
    async with AsyncExitStack() as stack:
        app, address = await stack.enter_async_context(fake_engine(issuer.jwks_file))
        own = open_channel(address, token=issuer.metadata("lobby-service", Role.LOBBY, to="engine"))
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


async def test_a_page_that_was_missed_delists_nobody(world: World) -> None:
    """The engine fails in the middle of its list: the copy before it stays whole."""
    ids_there = [OPEN, "x" * 26, "y" * 26]
    for table_id in ids_there:
        world.engine.put(table_id, FOR_TWO)
    world.engine.page_size = 1
    await world.first.renew_if_due()
    world.engine.lost_pages = {"x" * 26}
    await world.time_to_renew()
    with pytest.raises(RpcFailure):
        await world.first.renew_if_due()
    assert await ids(world.second) == ids_there


async def test_a_slow_renewal_does_not_put_an_old_list_in_a_newer_ones_place(world: World) -> None:
    """A replica hangs with what the engine told it; a table that has closed since stays closed."""
    table = world.engine.put(OPEN, FOR_TWO)
    world.engine.may_list.clear()
    slow = asyncio.create_task(world.first.renew_if_due())
    await world.engine.is_listing.wait()
    table.phase = table_pb2.PHASE_CLOSED
    world.engine.put("x" * 26, FOR_TWO)
    await world.time_to_renew()
    quick = asyncio.create_task(world.second.renew_if_due())
    world.engine.is_listing.clear()
    await world.engine.is_listing.wait()
    world.engine.may_list.set()
    await quick
    await slow
    assert await ids(world.first) == await ids(world.second) == ["x" * 26]


async def test_an_empty_redis_is_filled_from_the_engines_truth(
    world: World, valkey: Valkey
) -> None:
    """It crashed and lost everything; what closed meanwhile does not come back."""
    table = world.engine.put(OPEN, FOR_TWO)
    for _ in range(3):
        await world.first.renew_if_due()
        await world.time_to_renew()
    assert await ids(world.second) == [OPEN]
    valkey.kill()
    with pytest.raises(TableListUnavailable):
        await world.first.renew_if_due()
    table.phase = table_pb2.PHASE_CLOSED
    world.engine.put("x" * 26, FOR_TWO)
    world.pass_ms(RENEWAL_MS)
    with pytest.raises(TableListUnavailable):
        await world.second.newest()
    valkey.start()
    with pytest.raises(TableListUnavailable, match="being made"):
        await world.second.newest()
    await world.second.renew_if_due()
    assert await ids(world.second) == await ids(world.first) == ["x" * 26]


async def test_the_list_is_read_once_for_all_who_ask_at_once(world: World) -> None:
    world.engine.put(OPEN, FOR_TWO)
    await world.first.renew_if_due()
    before = await world.commands()
    listings = await asyncio.gather(*(world.second.newest() for _ in range(50)))
    assert len({id(listing) for listing in listings}) == 1
    assert await world.commands() - before == {"evalsha": 1}
    world.pass_ms(RENEWAL_MS)
    assert await world.second.newest() is listings[0], "nothing new was made: nothing is parsed"


async def test_all_keys_lie_in_one_slot(world: World) -> None:
    """A cluster runs the scripts as one server does: each names its keys, and they share a slot."""
    await world.first.renew_if_due()
    keys = await world.redis.keys("*")
    assert sorted(keys) == [b"okey:{tables}:list", b"okey:{tables}:renewal", b"okey:{tables}:turn"]
    assert len({key_slot(key) for key in keys if isinstance(key, bytes)}) == 1


async def test_a_copy_is_not_shown_for_ever(world: World) -> None:
    await world.first.renew_if_due()
    assert 0 < await world.redis.pttl("okey:{tables}:list") <= KEEP_MS


async def test_without_a_copy_there_is_no_list(world: World) -> None:
    with pytest.raises(TableListUnavailable, match="being made"):
        await world.first.newest()
    await world.redis.hset("okey:{tables}:list", mapping={"turn": 9, "copy": b"\xff"})
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


async def test_a_list_that_nobody_asks_for_any_more_is_forgotten(world: World) -> None:
    """T9: names are in it, of people who may have been erased since; who asks gets it anew."""
    await world.first.renew_if_due()
    remembered = weakref.ref(await world.first.newest())
    world.first.forget_if_old()
    gc.collect()
    assert remembered() is not None
    world.pass_ms(2_000)
    world.first.forget_if_old()
    gc.collect()
    assert remembered() is None
    assert len((await world.first.newest()).tables) == len((await world.second.newest()).tables)
