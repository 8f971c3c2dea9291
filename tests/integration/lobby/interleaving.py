"""Replicas step by step: each call to Redis and to the tables waits at a gate until a seeded
scheduler lets it through, loses it, or lets its replica die over it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from okey_runtime.clock import VirtualClock
from services.lobby.engine_calls import CALL_MS
from services.lobby.engine_tables import Sitting
from services.lobby.match_tables import Look, SeatAnswer, Sits, Unknown
from services.lobby.terms import Terms
from tests.fixtures.match_tables import MemoryTables
from tests.fixtures.valkey import Valkey

T = TypeVar("T")

_TURNS = 12
"""How often the loop gets its turn until nobody has anything left to do but wait."""


class Fate(Enum):
    """What becomes of a call."""

    DONE = auto()
    DONE_TWICE = auto()
    """The first reply is lost, and the call is made again."""
    REQUEST_LOST = auto()
    REPLY_LOST = auto()
    LATE = auto()
    """The caller hears nothing, and later it takes effect all the same."""


class Lost(Exception):
    """The caller got no answer."""


@dataclass
class Step:
    """A call that waits at the gate."""

    owner: str
    is_redis: bool
    until_ms: int
    call: Callable[[], Awaitable[object]]
    fate: "asyncio.Future[Fate]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    is_over: asyncio.Event = field(default_factory=asyncio.Event)


class Gate:
    """Where the calls of all replicas wait; those of ``dead`` ones are over, those of ``hung`` ones
    wait until they wake.
    """

    def __init__(self, chance: random.Random, clock: VirtualClock) -> None:
        self.steps: list[Step] = []
        self.dead: set[str] = set()
        self.hung: set[str] = set()
        self._late: list[Step] = []
        self._chance = chance
        self._clock = clock

    async def through(self, owner: str, is_redis: bool, call: Callable[[], Awaitable[T]]) -> T:
        """Make the call when it is let through.

        Raises:
            Lost: the caller hears nothing of it.
        """
        step = Step(owner, is_redis, self._clock.now_ms() + CALL_MS, call)
        self.steps.append(step)
        try:
            fate = await step.fate
            if fate is Fate.REQUEST_LOST:
                raise Lost
            if fate is Fate.LATE:
                self._late.append(step)
                raise Lost
            if fate is Fate.DONE_TWICE:
                await call()
            answer = await call()
            if fate is Fate.REPLY_LOST:
                raise Lost
            return answer
        finally:
            step.is_over.set()

    def open_steps(self) -> list[Step]:
        still = self.dead | self.hung
        return [step for step in self.steps if step.owner not in still]

    async def let_through(self, step: Step, fate: Fate) -> None:
        """Decide a step, and return once nobody has anything to do but wait."""
        self.steps.remove(step)
        if not step.is_redis and self._clock.now_ms() > step.until_ms:
            fate = Fate.REQUEST_LOST  # its deadline is over, and it was not even sent
        step.fate.set_result(fate)
        await step.is_over.wait()
        await quiet()

    async def deliver_late(self) -> None:
        """Let a call take effect of which its caller has heard nothing, if there is one that may
        still be under way.
        """
        now_ms = self._clock.now_ms()
        self._late = [each for each in self._late if each.is_redis or now_ms <= each.until_ms]
        if self._late:
            step = self._late.pop(self._chance.randrange(len(self._late)))
            await step.call()

    def die(self, owner: str) -> None:
        """The replica is gone; what it has sent may still arrive."""
        self.dead.add(owner)
        for step in [each for each in self.steps if each.owner == owner]:
            self.steps.remove(step)
            if self._chance.random() < 0.5:
                self._late.append(step)


async def quiet() -> None:
    """Return once everything that could run has run."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class GatedRedis(Redis):
    """A Redis client whose commands wait at the gate."""

    def __init__(self, valkey: Valkey, gate: Gate, owner: str) -> None:
        url = valkey.url.get_secret_value()
        pool = ConnectionPool.from_url(url, retry=Retry(ConstantBackoff(0), 0))
        super().__init__(connection_pool=pool)
        self.gate = gate
        self.owner = owner

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        whole: Callable[..., Awaitable[Any]] = super().execute_command
        return await redis_answer(self.gate, self.owner, lambda: whole(*args, **options))

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> "GatedPipeline":
        return GatedPipeline(self, transaction)


class GatedPipeline(Pipeline):
    """Its commands wait at the gate together."""

    def __init__(self, redis: GatedRedis, transaction: bool) -> None:
        super().__init__(redis.connection_pool, redis.response_callbacks, transaction, None)
        self.gate = redis.gate
        self.owner = redis.owner

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        commands, scripts = list(self.command_stack), set(self.scripts)
        whole = super().execute

        async def again() -> list[Any]:
            self.command_stack, self.scripts = list(commands), set(scripts)
            return await whole(raise_on_error)

        return await redis_answer(self.gate, self.owner, again)


async def redis_answer(gate: Gate, owner: str, call: Callable[[], Awaitable[T]]) -> T:
    try:
        return await gate.through(owner, True, call)
    except Lost as lost:
        raise RedisConnectionError("the connection broke off") from lost


class GatedTables:
    """``MatchTables`` whose calls wait at the gate."""

    def __init__(self, tables: MemoryTables, gate: Gate, owner: str) -> None:
        self._tables = tables
        self._gate = gate
        self._owner = owner

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        return await self._through(
            lambda: self._tables.open(request_id, player, name, terms, house_fill_after_ms)
        )

    async def take(
        self, table_id: str, request_id: str, player: str, name: str, seat: int
    ) -> SeatAnswer:
        return await self._through(
            lambda: self._tables.take(table_id, request_id, player, name, seat)
        )

    async def leave(self, table_id: str, request_id: str, player: str) -> Sits | Unknown | None:
        return await self._through(lambda: self._tables.leave(table_id, request_id, player))

    async def seat_of(self, player: str) -> Sitting | Unknown | None:
        return await self._through(lambda: self._tables.seat_of(player))

    async def look(self, table_id: str) -> Look | Unknown | None:
        return await self._through(lambda: self._tables.look(table_id))

    async def _through(self, call: Callable[[], Awaitable[T]]) -> T | Unknown:
        try:
            return await self._gate.through(self._owner, False, call)
        except Lost:
            return Unknown("no answer")
