"""How fast one player may make, join and leave tables, counted in a real Valkey."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.limits import Kind, Limit, Limits, SeatsTooOften, TablesTooOften
from tests.fixtures.valkey import Valkey

MAKING = Limit(at_once=3, every_ms=10_000)
JOINING = Limit(at_once=5, every_ms=2_000)


@pytest.fixture
async def redis(valkey: Valkey) -> AsyncIterator[Redis]:
    opened = open_redis(valkey.url)
    yield opened
    await opened.aclose()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def limits(redis: Redis, clock: VirtualClock) -> Limits:
    return Limits(redis, clock, making=MAKING, joining=JOINING)


async def test_so_many_at_once_then_one_after_a_while(limits: Limits, clock: VirtualClock) -> None:
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", f"request-{number}")
    with pytest.raises(TablesTooOften) as caught:
        await limits.count(Kind.MAKING, "ada", "request-9")
    assert caught.value.retry_after_ms == MAKING.every_ms
    clock.advance_ms(caught.value.retry_after_ms - 1)
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", "request-9")
    clock.advance_ms(1)
    await limits.count(Kind.MAKING, "ada", "request-9")
    with pytest.raises(TablesTooOften, match="made"):
        await limits.count(Kind.MAKING, "ada", "request-10")


async def test_another_player_and_another_kind_are_counted_apart(limits: Limits) -> None:
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", f"request-{number}")
    await limits.count(Kind.MAKING, "bo", "request-9")
    await limits.count(Kind.JOINING, "ada", "request-9")


async def test_the_same_request_is_counted_once(limits: Limits) -> None:
    """A client that heard no answer sends it again and again."""
    for _ in range(3 * MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", "request-1")
    for number in range(2, MAKING.at_once + 1):
        await limits.count(Kind.MAKING, "ada", f"request-{number}")
    await limits.count(Kind.MAKING, "ada", f"request-{MAKING.at_once}")
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", "request-9")


async def test_two_replicas_count_together(
    redis: Redis, clock: VirtualClock, limits: Limits
) -> None:
    """However the calls fall, so many go through and no more."""
    other = Limits(redis, clock, making=MAKING, joining=JOINING)
    calls = [
        (limits, other)[number % 2].count(Kind.JOINING, "ada", f"request-{number}")
        for number in range(20)
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, SeatsTooOften) for answer in answers) == 20 - JOINING.at_once
    assert sum(answer is None for answer in answers) == JOINING.at_once


async def test_whoever_may_sit_down_may_leave(limits: Limits, clock: VirtualClock) -> None:
    """W2: leaving is free; its limit is out of reach of who leaves what it has sat down at."""
    number = 0
    for _ in range(200):
        for kind in (Kind.MAKING, Kind.JOINING):
            number += 1
            try:
                await limits.count(kind, "ada", f"request-{number}")
            except (TablesTooOften, SeatsTooOften):
                continue
            await limits.count(Kind.LEAVING, "ada", f"request-{number}")
        clock.advance_ms(500)
    leaves = [limits.count(Kind.LEAVING, "ada", f"leave-{number}") for number in range(100)]
    answers = await asyncio.gather(*leaves, return_exceptions=True)
    assert any(isinstance(answer, SeatsTooOften) and "left" in str(answer) for answer in answers)


async def test_without_redis_nobody_is_counted_nor_kept_waiting(
    limits: Limits, clock: VirtualClock, valkey: Valkey
) -> None:
    """One call in a second finds out; afterwards it counts again."""
    valkey.kill()
    for number in range(5 * MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", f"request-{number}")
    valkey.start()
    clock.advance_ms(1_000)
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", f"request-{number}")
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", "request-99")


async def test_a_key_is_a_players_and_goes_away(limits: Limits, redis: Redis) -> None:
    await limits.count(Kind.MAKING, "ada", "request-1")
    await limits.count(Kind.JOINING, "ada", "request-2")
    keys = await redis.keys("*")
    assert sorted(keys) == [b"okey:{ada}:calls:joining", b"okey:{ada}:calls:making"]
    assert len({key_slot(key) for key in keys if isinstance(key, bytes)}) == 1
    assert 0 < await redis.pttl(keys[0]) <= MAKING.every_ms
    assert 0 < await redis.pttl(keys[1]) <= MAKING.every_ms
