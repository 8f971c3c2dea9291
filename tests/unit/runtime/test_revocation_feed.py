"""Following the list of revoked tokens, whatever becomes of the engine."""

import asyncio

import grpc
import pytest
from prometheus_client import REGISTRY

from okey_runtime.clock import VirtualClock
from okey_runtime.errors import RpcFailure
from okey_runtime.revocation import Revocation, Revocations
from okey_runtime.revocation_feed import STALE_MS, Page, RevocationFeed
from okey_runtime.status import OK, WARNING

HOUR_MS = 3_600_000


class Engine:
    """An engine with a list, page by page, that may be away."""

    def __init__(self, clock: VirtualClock, page: int = 2) -> None:
        self.entries: list[Revocation] = []
        self.is_away = False
        self.asked: list[int] = []
        self._clock = clock
        self._page = page

    def revoke(self, *token_ids: str) -> None:
        until_ms = self._clock.now_ms() + HOUR_MS
        self.entries += [Revocation(until_ms, token_id=each) for each in token_ids]

    async def read(self, cursor: int) -> Page:
        self.asked.append(cursor)
        if self.is_away:
            raise RpcFailure(grpc.StatusCode.UNAVAILABLE, "", "away", {})
        found = self.entries[cursor : cursor + self._page]
        return Page(found, cursor + len(found), len(self.entries))


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.engine = Engine(self.clock)
        self.known = Revocations(self.clock)
        self.feed = RevocationFeed(self.known, self.engine.read, 1_000, self.clock)


@pytest.fixture
def world() -> World:
    return World()


async def test_all_pages_are_taken_and_then_only_what_is_new(world: World) -> None:
    world.engine.revoke("a", "b", "c", "d", "e")
    await world.feed.catch_up()
    assert (len(world.known), world.engine.asked) == (5, [0, 2, 4])
    world.engine.revoke("f")
    await world.feed.catch_up()
    assert (len(world.known), world.engine.asked[3:]) == (6, [5])


async def test_a_list_that_was_set_back_is_read_again_and_takes_nothing_back(world: World) -> None:
    """A restored database has lost the newest entries, and writes others at their places."""
    world.engine.revoke("a", "b", "c")
    await world.feed.catch_up()
    del world.engine.entries[1:]
    world.engine.revoke("x")
    await world.feed.catch_up()
    assert len(world.known) == 4, "a, b, c and x"


async def test_what_is_known_stays_while_the_engine_is_away_and_its_age_grows(world: World) -> None:
    world.engine.revoke("a")
    await world.feed.catch_up()
    assert (await world.feed.look()).state == OK
    world.engine.is_away = True
    world.clock.advance_ms(STALE_MS)
    with pytest.raises(RpcFailure):
        await world.feed.catch_up()
    assert len(world.known) == 1
    assert REGISTRY.get_sample_value("okey_revocations_age_seconds") == STALE_MS / 1000
    assert (await world.feed.look()).state == WARNING
    world.engine.is_away = False
    await world.feed.catch_up()
    assert (world.known.age_ms, (await world.feed.look()).state) == (0, OK)


async def test_it_follows_again_once_the_engine_is_back(world: World) -> None:
    world.engine.is_away = True
    running = asyncio.create_task(world.feed.run())
    await asyncio.sleep(0)
    world.engine.is_away = False
    world.engine.revoke("a")
    async with asyncio.timeout(10):
        while not len(world.known):
            world.clock.advance_ms(1_000)
            await asyncio.sleep(0)
    running.cancel()
