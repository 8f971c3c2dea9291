"""The Redis client on a real Valkey: what a call gives, and how an outage shows."""

import asyncio
import socket
import time

import pytest
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import RedisError

from okey_runtime import redis
from okey_runtime.clock import SystemClock
from okey_runtime.redis import open_redis
from okey_runtime.shared_redis import SharedRedis
from tests.fixtures.valkey import (
    FailingOver,
    Valkey,
    failing_over,
    other_valkey_server,
    valkey,
    valkey_server,
)

__all__ = ["failing_over", "other_valkey_server", "valkey", "valkey_server"]


async def test_answers_are_bytes(valkey: Valkey) -> None:
    client = open_redis(valkey.url)
    await client.set("a", "ş")
    assert await client.get("a") == "ş".encode()
    await client.aclose()


async def test_a_server_that_is_gone_is_an_error_soon(valkey: Valkey) -> None:
    client = open_redis(valkey.url)
    await client.set("a", "b")
    valkey.kill()
    begun_s = time.monotonic()
    with pytest.raises((RedisError, OSError)):
        await client.get("a")
    assert time.monotonic() - begun_s < 5
    await client.aclose()


async def test_a_server_that_has_come_back_is_used_again(valkey: Valkey) -> None:
    client = open_redis(valkey.url)
    await client.set("a", "b")
    valkey.kill()
    await asyncio.to_thread(valkey.start)
    assert await client.set("a", "c")
    assert await client.get("a") == b"c"
    await client.aclose()


@pytest.mark.parametrize("kind", ["plain", "shared"])
async def test_a_primary_that_became_a_replica_is_left_and_its_name_asked_again(
    failing_over: FailingOver, kind: str
) -> None:
    """It answers READONLY and never ends a connection."""
    client = (
        open_redis(failing_over.url)
        if kind == "plain"
        else SharedRedis(failing_over.url, SystemClock(), budget_ms=5_000, max_connections=8)
    )
    # Some connections, which are idle when it happens.
    await asyncio.gather(*(client.blpop([f"none-{number}"], 0.05) for number in range(4)))
    await failing_over.fail_over()
    assert await client.set("a", "b")
    before = failing_over.name.asked
    await asyncio.gather(*(client.blpop([f"none-{number}"], 0.05) for number in range(4)))
    assert failing_over.name.asked >= before + 3, "the others are left as well"
    async with client.pipeline(transaction=True) as steps:
        steps.set("c", "d")
        steps.get("c")
        assert await steps.execute() == [True, b"d"]
    await client.aclose()
    with Redis(port=failing_over.new.port) as direct:
        assert (direct.get("a"), direct.get("c")) == (b"b", b"d")


async def test_who_waits_at_a_primary_that_becomes_a_replica_is_sent_to_the_new_one(
    failing_over: FailingOver,
) -> None:
    """UNBLOCKED: a blocking read there ends, and is tried at the new one."""
    client = open_redis(failing_over.url)
    waiting = asyncio.ensure_future(client.blpop(["queue"], 1.5))
    while not (await client.info("clients"))["blocked_clients"]:
        pass
    await failing_over.fail_over()
    with Redis(port=failing_over.new.port) as direct:
        direct.rpush("queue", "first")
    assert await waiting == (b"queue", b"first")
    await client.aclose()


async def test_a_script_and_a_transaction_at_a_replica_find_the_new_primary(
    failing_over: FailingOver,
) -> None:
    client = open_redis(failing_over.url)
    write = client.register_script("return redis.call('INCR', KEYS[1])")
    assert await write(keys=["n"]) == 1
    await failing_over.fail_over()
    assert await write(keys=["n"]) == 1, "at the new one, which has nothing of before"
    await client.aclose()


async def test_a_server_that_does_not_answer_is_an_error_in_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redis, "CALL_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        client = open_redis(SecretStr(f"redis://127.0.0.1:{port}/0"))
        begun_s = time.monotonic()
        with pytest.raises(RedisError):
            await client.get("a")
        # Four timeouts and the waits between them, and not the 18 s that more retries came to.
        assert time.monotonic() - begun_s < 10 * 0.2
        await client.aclose()
