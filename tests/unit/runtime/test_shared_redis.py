"""One finds out for all that Redis is away, and one at a time tries whether it is back."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError
from structlog.testing import capture_logs

from okey_runtime.clock import VirtualClock
from okey_runtime.shared_redis import PAUSE_MS, Reach, RedisAway


class Server:
    """Counts what it is asked; each answer comes when the test gives it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.reach = Reach(self.clock, budget_ms=1_000)
        self.asked: list[asyncio.Future[str]] = []
        self._is_asked = asyncio.Event()

    async def ask(self) -> str:
        return await self.reach.ask(self._question)

    async def begin(self) -> "asyncio.Task[str]":
        """A question that waits for its answer."""
        self._is_asked.clear()
        task = asyncio.create_task(self.ask())
        await self._is_asked.wait()
        return task

    async def fail(self) -> None:
        task = await self.begin()
        self.asked[-1].set_exception(RedisConnectionError("refused"))
        with pytest.raises(RedisAway, match="refused"):
            await task

    async def _question(self) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.asked.append(answer)
        self._is_asked.set()
        return await answer


async def raises(error: Exception) -> str:
    raise error


def failing(error: Exception) -> Callable[[], Awaitable[str]]:
    return lambda: raises(error)


async def test_after_a_failure_nobody_is_asked_for_a_while() -> None:
    server = Server()
    await server.fail()
    server.clock.advance_ms(PAUSE_MS - 1)
    for _ in range(3):
        with pytest.raises(RedisAway, match="not asked"):
            await server.ask()
    assert len(server.asked) == 1


async def test_one_at_a_time_tries_whether_it_is_back() -> None:
    server = Server()
    await server.fail()
    server.clock.advance_ms(PAUSE_MS)
    trying = await server.begin()
    with pytest.raises(RedisAway, match="not asked"):
        await server.ask()
    server.asked[-1].set_result("back")
    assert await trying == "back"
    again = await server.begin()
    server.asked[-1].set_result("still there")
    assert await again == "still there"


async def test_a_vain_try_is_followed_by_the_next_after_the_pause() -> None:
    server = Server()
    for _ in range(3):
        await server.fail()
        with pytest.raises(RedisAway, match="not asked"):
            await server.ask()
        server.clock.advance_ms(PAUSE_MS)


async def test_a_try_that_is_called_off_lets_another_try() -> None:
    server = Server()
    await server.fail()
    server.clock.advance_ms(PAUSE_MS)
    trying = await server.begin()
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    again = await server.begin()
    server.asked[-1].set_result("back")
    assert await again == "back"


async def test_an_old_failure_does_not_hide_a_newer_answer() -> None:
    """It was asked before the outage, and its time-out comes once the server is back."""
    server = Server()
    old = await server.begin()
    newer = await server.begin()
    server.asked[1].set_result("there")
    assert await newer == "there"
    server.asked[0].set_exception(RedisTimeoutError("too late"))
    with pytest.raises(RedisAway):
        await old
    again = await server.begin()
    server.asked[-1].set_result("there")
    assert await again == "there"


async def test_a_silent_server_is_away_after_the_budget() -> None:
    reach = Reach(VirtualClock(), budget_ms=1)
    with pytest.raises(RedisAway, match="TimeoutError"):
        await reach.ask(asyncio.Event().wait)


@pytest.mark.parametrize("error", [RedisTimeoutError("slow"), OSError("no route")])
async def test_whatever_is_no_answer_is_away(error: Exception) -> None:
    reach = Reach(VirtualClock(), budget_ms=1_000)
    with pytest.raises(RedisAway):
        await reach.ask(failing(error))
    with pytest.raises(RedisAway, match="not asked"):
        await reach.ask(failing(error))


async def test_a_refusal_is_an_answer() -> None:
    reach = Reach(VirtualClock(), budget_ms=1_000)
    for _ in range(2):
        with pytest.raises(ResponseError, match="NOSCRIPT"):
            await reach.ask(failing(ResponseError("NOSCRIPT")))


async def test_an_outage_is_told_once() -> None:
    server = Server()
    with capture_logs() as lines:
        await server.fail()
        with pytest.raises(RedisAway):
            await server.ask()
        server.clock.advance_ms(PAUSE_MS)
        trying = await server.begin()
        server.asked[-1].set_result("back")
        await trying
    told = [line["event"] for line in lines if line["log_level"] != "debug"]
    assert told == ["redis_away", "redis_back"]
