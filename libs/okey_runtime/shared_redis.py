"""One Redis client for all parts of a process: that the server is away, also silently, one of them
finds out for all.

Whoever asks gets an answer or an error within a command's budget, whatever is wrong: no connection,
a connection without answers, too many commands before it. After an error nobody is kept waiting:
every command is refused at once, but for one each ``PAUSE_MS`` that tries whether the server is
back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from pydantic import SecretStr
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from okey_runtime.clock import Clock
from okey_runtime.outage import Outage
from okey_runtime.redis import pool_of

PAUSE_MS: Final = 250
"""How long after a failure the server is tried again."""

T = TypeVar("T")


class RedisAway(RedisConnectionError):
    """The server gave no answer, now or a moment ago."""


class Reach:
    """Whether a server answers, as all who ask it have found out together."""

    def __init__(self, clock: Clock, budget_ms: int) -> None:
        """A command may take ``budget_ms`` in all."""
        self._clock = clock
        self._budget_s = budget_ms / 1000
        self._outage = Outage("redis", RedisAway)
        self._asked = 0
        self._answered = 0
        self._is_away = False
        self._is_tried = False
        self._try_again_ms = 0

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """The answer.

        Raises:
            RedisAway: there is none, or there was none a moment ago and nobody asked.
        """
        if not self._is_away:
            return await self._asking(question)
        if self._is_tried or self._clock.monotonic_ms() < self._try_again_ms:
            raise RedisAway("Redis gave no answer a moment ago: not asked")
        self._is_tried = True
        try:
            return await self._asking(question)
        finally:
            self._is_tried = False

    async def _asking(self, question: Callable[[], Awaitable[T]]) -> T:
        self._asked += 1
        number = self._asked
        with self._outage.asking():
            try:
                async with asyncio.timeout(self._budget_s):
                    answer = await question()
            except (RedisConnectionError, RedisTimeoutError, TimeoutError, OSError) as error:
                self._has_failed(number)
                raise RedisAway(f"Redis gives no answer: {type(error).__name__} {error}") from error
        self._answered = max(self._answered, number)
        self._is_away = False
        return answer

    def _has_failed(self, number: int) -> None:
        # A failure is no news where a later question was answered.
        if number > self._answered:
            self._is_away = True
            self._try_again_ms = self._clock.monotonic_ms() + PAUSE_MS


class SharedRedis(Redis):
    """A client whose commands, scripts and pipelines all ask through one ``Reach``."""

    def __init__(self, url: SecretStr, clock: Clock, budget_ms: int, max_connections: int) -> None:
        super().__init__(connection_pool=pool_of(url, max_connections))
        self.auto_close_connection_pool = True
        self._reach = Reach(clock, budget_ms)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """One command."""
        whole: Callable[..., Awaitable[Any]] = super().execute_command
        return await self._reach.ask(lambda: whole(*args, **options))

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> "Pipeline":
        """Commands that are sent together."""
        return _SharedPipeline(self, self._reach, transaction)


class _SharedPipeline(Pipeline):
    def __init__(self, redis: Redis, reach: Reach, transaction: bool) -> None:
        super().__init__(redis.connection_pool, redis.response_callbacks, transaction, None)
        self._reach = reach

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """All of them."""
        whole = super().execute
        return await self._reach.ask(lambda: whole(raise_on_error))
