"""How fast one player may make, join and leave tables and hand in tickets; in a real Valkey."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.limits import (
    ASKING,
    REPETITIONS,
    Kind,
    Limit,
    Limits,
    SeatsTooOften,
    TablesTooOften,
    TicketsTooOften,
)
from tests.fixtures.valkey import Valkey

MAKING = Limit(at_once=3, every_ms=10_000)
JOINING = Limit(at_once=5, every_ms=2_000)


def request(request_id: str, table_id: str = "table-1") -> lobby_pb2.JoinTableRequest:
    return lobby_pb2.JoinTableRequest(request_id=request_id, table_id=table_id)


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
        await limits.count(Kind.MAKING, "ada", request(f"request-{number}"))
    with pytest.raises(TablesTooOften) as caught:
        await limits.count(Kind.MAKING, "ada", request("request-9"))
    assert caught.value.retry_after_ms == MAKING.every_ms
    clock.advance_ms(caught.value.retry_after_ms - 1)
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", request("request-9"))
    clock.advance_ms(1)
    await limits.count(Kind.MAKING, "ada", request("request-9"))
    with pytest.raises(TablesTooOften, match="made"):
        await limits.count(Kind.MAKING, "ada", request("request-10"))


async def test_another_player_and_another_kind_are_counted_apart(limits: Limits) -> None:
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", request(f"request-{number}"))
    await limits.count(Kind.MAKING, "bo", request("request-9"))
    await limits.count(Kind.JOINING, "ada", request("request-9"))


async def test_the_same_request_is_counted_once(limits: Limits) -> None:
    """A client that heard no answer sends it again and again."""
    for _ in range(1 + REPETITIONS):
        await limits.count(Kind.MAKING, "ada", request("request-1"))
    for number in range(2, MAKING.at_once + 1):
        await limits.count(Kind.MAKING, "ada", request(f"request-{number}"))
    await limits.count(Kind.MAKING, "ada", request(f"request-{MAKING.at_once}"))
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", request("request-9"))


async def test_repeating_one_request_for_ever_is_no_way_round(limits: Limits) -> None:
    """As often as a patient client repeats it, then it counts like any other."""
    for _ in range(MAKING.at_once * (1 + REPETITIONS)):
        await limits.count(Kind.MAKING, "ada", request("request-1"))
    for _ in range(2):
        with pytest.raises(TablesTooOften):
            await limits.count(Kind.MAKING, "ada", request("request-1"))


async def test_two_requests_by_turns_both_count(limits: Limits) -> None:
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", request(f"request-{number % 2}"))
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", request(f"request-{MAKING.at_once % 2}"))


async def test_the_same_id_for_another_table_is_another_request(limits: Limits) -> None:
    for number in range(JOINING.at_once):
        await limits.count(Kind.JOINING, "ada", request("request-1", f"table-{number}"))
    with pytest.raises(SeatsTooOften):
        await limits.count(Kind.JOINING, "ada", request("request-1", "table-9"))


async def test_every_ticket_counts(limits: Limits, clock: VirtualClock) -> None:
    """It names no request: handing in and taking back by turns is slowed down."""
    wish = lobby_pb2.EnqueueTicketRequest()
    for _ in range(ASKING.at_once):
        await limits.count(Kind.ASKING, "ada", wish)
    with pytest.raises(TicketsTooOften, match="WatchTicket") as caught:
        await limits.count(Kind.ASKING, "ada", wish)
    clock.advance_ms(caught.value.retry_after_ms)
    await limits.count(Kind.ASKING, "ada", wish)
    await limits.count(Kind.ASKING, "bo", wish)


async def test_two_replicas_count_together(
    redis: Redis, clock: VirtualClock, limits: Limits
) -> None:
    """However the calls fall, so many go through and no more."""
    other = Limits(redis, clock, making=MAKING, joining=JOINING)
    calls = [
        (limits, other)[number % 2].count(Kind.JOINING, "ada", request(f"request-{number}"))
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
                await limits.count(kind, "ada", request(f"request-{number}"))
            except (TablesTooOften, SeatsTooOften):
                continue
            await limits.count(Kind.LEAVING, "ada", request(f"request-{number}"))
        clock.advance_ms(500)
    leaves = [
        limits.count(Kind.LEAVING, "ada", request(f"leave-{number}")) for number in range(100)
    ]
    answers = await asyncio.gather(*leaves, return_exceptions=True)
    assert any(isinstance(answer, SeatsTooOften) and "left" in str(answer) for answer in answers)


async def test_without_redis_nobody_is_counted(limits: Limits, valkey: Valkey) -> None:
    valkey.kill()
    for number in range(2 * MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", request(f"request-{number}"))
    valkey.start()
    for number in range(MAKING.at_once):
        await limits.count(Kind.MAKING, "ada", request(f"request-{number}"))
    with pytest.raises(TablesTooOften):
        await limits.count(Kind.MAKING, "ada", request("request-99"))


async def test_a_key_is_a_players_and_goes_away(limits: Limits, redis: Redis) -> None:
    await limits.count(Kind.MAKING, "ada", request("request-1"))
    await limits.count(Kind.JOINING, "ada", request("request-2"))
    keys = await redis.keys("*")
    assert sorted(keys) == [b"okey:{ada}:calls:joining", b"okey:{ada}:calls:making"]
    assert len({key_slot(key) for key in keys if isinstance(key, bytes)}) == 1
    assert 0 < await redis.pttl(keys[0]) <= MAKING.every_ms
    assert 0 < await redis.pttl(keys[1]) <= MAKING.every_ms
