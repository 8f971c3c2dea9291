"""The Redis client on a real Valkey: what a call gives, and how an outage shows."""

import asyncio
import socket
import time

import pytest
from pydantic import SecretStr
from redis.exceptions import RedisError

from okey_runtime import redis
from okey_runtime.redis import open_redis
from tests.fixtures.valkey import Valkey, valkey, valkey_server

__all__ = ["valkey", "valkey_server"]


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
