"""Following a list: the whole of it first, then what changes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.auth import TokenExpired
from okey_runtime.clock import VirtualClock
from okey_runtime.identity import Identity, Role
from okey_runtime.revocation import Revocations
from services.lobby.list_watching import ListWatches, Shown, WatchersExhausted
from services.lobby.listing import Listing
from services.lobby.table_list import RENEWAL_MS
from services.lobby.ticket_watch import LobbyStopping
from tests.unit.lobby.listed_tables import number_of, table

Request = lobby_pb2.ListTablesRequest


class Lists:
    """The newest list, as the test says."""

    def __init__(self) -> None:
        self.listing = Listing([], 0)

    async def newest(self) -> Listing:
        return self.listing


class World:
    def __init__(self, most: int = 2) -> None:
        self.clock = VirtualClock()
        self.lists = Lists()
        self.revocations = Revocations(self.clock)
        self.watches = ListWatches(self.lists, self.clock, most, self.revocations)

    def show(self, *tables: lobby_pb2.ListedTable) -> None:
        self.lists.listing = Listing(tables, self.lists.listing.as_of_ms + 1)

    def follow(
        self, request: Request | None = None, ttl_ms: int = 60_000
    ) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
        caller = Identity("ada", frozenset({Role.PLAYER}), "", self.clock.now_ms() + ttl_ms)
        return self.watches.follow(request or Request(), caller)

    async def next(
        self, steps: AsyncGenerator[lobby_pb2.WatchTablesResponse, None]
    ) -> lobby_pb2.WatchTablesResponse:
        """The next step, as soon as time has passed."""
        coming = asyncio.ensure_future(anext(steps))
        async with asyncio.timeout(5):
            while not coming.done():
                await asyncio.sleep(0)
                self.clock.advance_ms(RENEWAL_MS)
        return await coming


def changed(step: lobby_pb2.WatchTablesResponse) -> list[int]:
    return [number_of(each) for each in step.changed]


async def test_the_whole_list_comes_first_then_what_changes() -> None:
    world = World()
    world.show(table(1, created_ms=1), table(2, created_ms=2))
    steps = world.follow()
    first = await world.next(steps)
    assert (changed(first), [*map(int, first.table_ids)], first.as_of_ms) == ([1, 2], [2, 1], 1)
    world.show(table(1, created_ms=1), table(2, created_ms=2))  # nothing new: no message
    coming = asyncio.ensure_future(world.next(steps))
    await asyncio.sleep(0)
    world.show(table(1, created_ms=1, taken=2), table(3, created_ms=3))
    second = await coming
    assert (changed(second), [*map(int, second.gone_table_ids)]) == ([1, 3], [2])
    assert ([*map(int, second.table_ids)], second.as_of_ms) == ([3, 1], 3)


def test_an_empty_list_is_told_once() -> None:
    shown, nothing = Shown(), lobby_pb2.ListTablesResponse(as_of_ms=5)
    assert shown.step(nothing) == lobby_pb2.WatchTablesResponse(as_of_ms=5)
    assert shown.step(nothing) is None


def test_a_table_that_only_moves_in_the_order_has_not_changed() -> None:
    shown = Shown()
    one, two = table(1), table(2)
    shown.step(lobby_pb2.ListTablesResponse(tables=[one, two]))
    step = shown.step(lobby_pb2.ListTablesResponse(tables=[two, one]))
    assert step == lobby_pb2.WatchTablesResponse(table_ids=[two.table_id, one.table_id])


async def test_filters_order_and_size_are_those_of_a_list() -> None:
    world = World()
    world.show(*(table(n, stake=50 + n) for n in range(5)), table(9, is_joinable=False))
    order = lobby_pb2.TABLE_ORDER_HIGHEST_STAKE
    steps = world.follow(Request(only_joinable=True, order=order, page_size=2))
    assert [*map(int, (await world.next(steps)).table_ids)] == [4, 3]
    world.show(*(table(n, stake=50 + n) for n in range(3)))
    second = await world.next(steps)
    assert ([*map(int, second.table_ids)], len(second.gone_table_ids)) == ([2, 1], 2)


async def test_a_stream_ends_with_its_token_and_with_its_replica() -> None:
    world = World()
    steps = world.follow(ttl_ms=3 * RENEWAL_MS)
    await world.next(steps)
    with pytest.raises(TokenExpired):
        await world.next(steps)
    steps = world.follow()
    await world.next(steps)
    world.watches.end()
    with pytest.raises(LobbyStopping):
        await world.next(steps)


async def test_so_many_lists_are_watched_and_no_more() -> None:
    """Whoever goes makes room."""
    world = World(most=1)
    async with aclosing(world.follow()) as steps:
        await anext(steps)
        with pytest.raises(WatchersExhausted) as caught:
            await anext(world.follow())
        assert caught.value.retry_after_ms > 0
    await anext(world.follow())
