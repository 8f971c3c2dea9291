"""The outbox: each table's rows carried to one sink, in order, until the answer is definite.

The journal is the outbox and a cursor per table and sink says how far it was read. An answer
becomes a command of the table first and moves the cursor then, so that a crash between repeats the
call: its key is the same, so it takes effect once, and the table ignores an answer that it does not
wait for. A sink that is away holds up nobody but who waits for it, and how long its oldest row has
waited is a metric with an alert: a relay that stands still is never silent.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import grpc
from google.protobuf.message import Message

from okey.errors import Exhausted, OkeyError, Unavailable
from okey.table import commands as c
from okey.table import events as e
from okey.table.state import TableState
from okey_runtime import failpoints
from okey_runtime.backoff import waits_s
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from okey_runtime.outage import Outage
from services.engine.actor import Change, TableActor
from services.engine.background import say_failure
from services.engine.metrics import (
    RELAY_ANSWERS,
    RELAY_OLDEST_SECONDS,
    RELAY_SECONDS,
    RELAY_WAITING,
)
from services.engine.record import Row
from services.engine.unanswered import overdue_holds

_DEFINITE: Final = frozenset(
    {
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
    }
)

_log = get_logger(__name__)


class Uncertain(Exception):
    """Nobody knows whether a call took effect."""


def is_definite(code: grpc.StatusCode) -> bool:
    """Whether a refusal with this code is the sink's last word.

    A refused token is not: it says that the engine is set up wrongly, and is mended from outside.
    """
    return code in _DEFINITE


@dataclass(frozen=True, slots=True)
class Answer:
    """A definite answer: what it means to the table, and the reason of a decline."""

    command: c.Command | None
    declined: str


class Sink(Protocol):
    """A service that is told of what happens at tables."""

    @property
    def name(self) -> str:
        """The name of its cursors; never changes."""
        ...

    def calls(self, before: TableState | None, after: TableState, row: Row) -> list[Message]:
        """The requests that a row asks for, in order."""
        ...

    async def deliver(self, call: Message) -> Answer:
        """Make the call once, or raise ``Uncertain``."""
        ...


class Checkpoints(Protocol):
    """Where cursors are kept; ``Journal`` is the one for production."""

    async def checkpoint(self, table_id: str, sink: str, seq: int) -> None:
        """Note that the sink has answered the table's rows up to ``seq``."""
        ...


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A row that the sink has not answered: when it was journaled, what it asks for, and since when
    this engine has asked, or waited to ask, without having stood still.
    """

    seq: int
    at_ms: int
    calls: list[Message]
    since_ms: int


class Relay:
    """Carries every table's rows to one sink; a task a table, only while there is something."""

    def __init__(
        self,
        sink: Sink,
        checkpoints: Checkpoints,
        clock: Clock,
        idle: Callable[[TableActor], None],
        goes: Callable[[], bool],
    ) -> None:
        """``idle`` is called each time when a table's rows are all answered; ``goes`` says whether
        the engine goes, so that it was the sink that took its time.
        """
        self._sink = sink
        self._checkpoints = checkpoints
        self._clock = clock
        self._idle = idle
        self._goes = goes
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._oldest_ms: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._outage = Outage("sink", Uncertain, sink=sink.name)
        self._gauge = RELAY_WAITING.labels(sink.name)
        # Asked for at each scrape, so that it grows whatever became of the tasks.
        RELAY_OLDEST_SECONDS.labels(sink.name).set_function(self.oldest_waiting_s)

    @property
    def name(self) -> str:
        """The sink's name."""
        return self._sink.name

    def oldest_waiting_s(self) -> float:
        """How long ago the oldest row that waits for an answer was journaled; 0 if none waits.

        Any thread may ask.
        """
        oldest_ms = min(list(self._oldest_ms.values()), default=None)
        return 0.0 if oldest_ms is None else max(0, self._clock.now_ms() - oldest_ms) / 1000

    def is_idle(self, table_id: str) -> bool:
        """Whether nothing of the table waits for an answer."""
        return table_id not in self._tasks

    def push(
        self, actor: TableActor, before: TableState | None, after: TableState, row: Row
    ) -> None:
        """Carry what a committed row asks for; rows come in order."""
        if any(isinstance(event, e.TableTakenOver) for event in row.events):
            self._wait_anew(actor.table_id)
        calls = self._sink.calls(before, after, row)
        if not calls:
            return
        rows = self._waiting.setdefault(actor.table_id, deque())
        rows.append(_Waiting(row.seq, row.at_ms, calls, self._clock.now_ms()))
        self._oldest_ms.setdefault(actor.table_id, row.at_ms)
        self._gauge.inc()
        if actor.table_id not in self._tasks:
            task = asyncio.create_task(self._carry(actor), name=f"{self.name}-{actor.table_id}")
            task.add_done_callback(say_failure)
            self._tasks[actor.table_id] = task

    def forget(self, table_id: str) -> None:
        """Stop carrying for a table that is let go; who loads it starts from the cursor."""
        task = self._tasks.pop(table_id, None)
        if task is not None:
            task.cancel()
        self._oldest_ms.pop(table_id, None)
        self._gauge.dec(len(self._waiting.pop(table_id, ())))

    async def _carry(self, actor: TableActor) -> None:
        rows = self._waiting[actor.table_id]
        while rows:
            self._oldest_ms[actor.table_id] = rows[0].at_ms
            for call in rows[0].calls:
                answer = await self._until_definite(actor, call)
                self._count_answered(call, rows[0].at_ms)
                failpoints.hit("engine.replied", call)
                if answer.command is not None and not await self._tell(actor, answer.command):
                    return
                failpoints.hit("engine.told", call)
            await self._checkpoint(actor.table_id, rows[0].seq)
            rows.popleft()
            self._gauge.dec()
        del self._waiting[actor.table_id], self._tasks[actor.table_id]
        del self._oldest_ms[actor.table_id]
        self._idle(actor)

    async def _until_definite(self, actor: TableActor, call: Message) -> Answer:
        waits = waits_s()
        while True:
            failpoints.hit("engine.before_call", call)
            try:
                with self._outage.asking():
                    answer = await self._sink.deliver(call)
            except Uncertain:
                RELAY_ANSWERS.labels(self.name, "UNCERTAIN").inc()
                if self._goes():
                    await self._give_up_overdue(actor)
                await asyncio.sleep(next(waits))
                continue
            RELAY_ANSWERS.labels(self.name, "DECLINED" if answer.declined else "OK").inc()
            return answer

    def _count_answered(self, call: Message, since_ms: int) -> None:
        kind = type(call).__name__.removesuffix("Request")
        waited_ms = max(0, self._clock.now_ms() - since_ms)
        RELAY_SECONDS.labels(self.name, kind).observe(waited_ms / 1000)

    def _wait_anew(self, table_id: str) -> None:
        """The engine stood still or is another one: that time counts against nobody."""
        rows, now_ms = self._waiting.get(table_id, deque()), self._clock.now_ms()
        for at, row in enumerate(rows):
            rows[at] = replace(row, since_ms=now_ms)

    async def _give_up_overdue(self, actor: TableActor) -> None:
        """Free seats whose stake was asked for too long ago; what was asked is asked on."""
        rows = self._waiting[actor.table_id]
        calls = [(row.since_ms, call) for row in rows for call in row.calls]
        for command in overdue_holds(calls, actor.table, self._clock.now_ms()):
            _log.warning("stake_unanswered", table_id=actor.table_id, player_id=command.player)
            await self._tell(actor, command)

    async def _tell(self, actor: TableActor, command: c.Command) -> bool:
        """Hand an answer to the table; False where the table was let go meanwhile."""
        try:
            await actor.post(command)
        except (Unavailable, Exhausted):
            return False
        except OkeyError as error:
            _log.error("answer_refused", table_id=actor.table_id, error=str(error))
        return True

    async def _checkpoint(self, table_id: str, seq: int) -> None:
        waits = waits_s()
        while True:
            try:
                await self._checkpoints.checkpoint(table_id, self.name, seq)
            except (Unavailable, Exhausted):
                await asyncio.sleep(next(waits))
            else:
                return


class Relays:
    """One relay a sink."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        checkpoints: Checkpoints,
        clock: Clock,
        idle: Callable[[TableActor], None],
        goes: Callable[[], bool],
    ) -> None:
        """``idle`` is called each time when one of them has nothing left of a table; ``goes`` says
        whether the engine goes.
        """
        self._relays = [Relay(sink, checkpoints, clock, idle, goes) for sink in sinks]

    def push(self, actor: TableActor, change: Change) -> None:
        """Carry what a committed row asks for; no sink hears of draws and discards."""
        if change.row.is_plain:
            return
        for relay in self._relays:
            relay.push(actor, change.before, change.after, change.row)

    def go_on(
        self, actor: TableActor, changes: Iterable[Change], cursors: Mapping[str, int]
    ) -> None:
        """Carry what these rows ask for, beyond what each sink has answered."""
        for relay in self._relays:
            for change in changes:
                if change.row.seq > cursors.get(relay.name, 0):
                    relay.push(actor, change.before, change.after, change.row)

    def are_idle(self, table_id: str) -> bool:
        """Whether no sink waits for a row of the table."""
        return all(relay.is_idle(table_id) for relay in self._relays)

    def oldest_waiting_s(self) -> dict[str, float]:
        """By sink, how long ago the oldest row that waits for its answer was journaled."""
        return {relay.name: relay.oldest_waiting_s() for relay in self._relays}

    def forget(self, table_id: str) -> None:
        """Stop carrying for a table that is let go."""
        for relay in self._relays:
            relay.forget(table_id)
