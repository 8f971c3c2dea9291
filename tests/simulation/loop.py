"""An event loop for several simulated processes: time is virtual, and chance says who runs next.

Each process runs its own callbacks in their order, as its own event loop would; between the
processes anything may come first. A process can be paused, and it can be killed: then nothing of
it ever runs again, as after ``kill -9``, not even a ``finally``.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any, Final, TypeVarTuple

from tests.simulation.trace import Trace

_Ts = TypeVarTuple("_Ts")

_FEW_TASKS: Final = 1_000


class Stuck(AssertionError):
    """Nothing can ever happen any more, though somebody still waits."""


class Process:
    """Something that runs for itself, and dies for itself; ``owner`` names it in the trace."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.ready: Final[deque[asyncio.Handle]] = deque()
        self.is_alive = True
        self.is_paused = False
        self.context: Final = copy_context()
        self.context.run(_CURRENT.set, self)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def is_runnable(self) -> bool:
        """Whether it would run if it got its turn."""
        return bool(self.ready) and not self.is_paused


_CURRENT: ContextVar[Process] = ContextVar("simulated_process")


def current() -> Process:
    """The process that runs now."""
    return _CURRENT.get()


class SimulatedLoop(asyncio.BaseEventLoop):
    """Everything that happens is a function of ``chance``; ``outside`` is the test itself."""

    def __init__(self, chance: Random, trace: Trace) -> None:
        super().__init__()
        self.outside: Final = Process("outside")
        self.steps = 0
        """How many callbacks were run."""
        self._chance = chance
        self._trace = trace
        self._now_s = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Process]] = []
        self._order = itertools.count()
        self._processes = [self.outside]
        self._tasks: list[asyncio.Task[Any]] = []
        self._most_tasks = _FEW_TASKS

    def time(self) -> float:
        """Virtual seconds since the run began."""
        return self._now_s

    # Processes ------------------------------------------------------------------------------------

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> Process:
        """A new process that begins with this work."""
        process = Process(name)
        self._processes.append(process)
        process.context.run(lambda: self.create_task(work()))
        return process

    def process(self, name: str) -> Process:
        """A new process without work of its own: it runs what is handed to it."""
        process = Process(name)
        self._processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        """Nothing of it runs from now on."""
        process.is_alive = False
        process.ready.clear()
        self._processes.remove(process)

    # What asyncio asks of a loop ------------------------------------------------------------------

    def call_soon(
        self,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Run it when its process gets its next turn."""
        handle = asyncio.Handle(callback, args, self, context)
        process = self._process_of(context)
        if process.is_alive:
            process.ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """The same: there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run it after so many virtual seconds."""
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run it at a virtual moment."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        entry = (max(when, self._now_s), next(self._order), handle, self._process_of(context))
        heapq.heappush(self._timers, entry)
        return handle

    def create_task(
        self,
        coro: Any,
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[Any]:
        """A task of the process that asks for it, also where it brings a context of its own."""
        if context is not None and _CURRENT not in context:
            context.run(_CURRENT.set, self._process_of(None))
        task: asyncio.Task[Any] = super().create_task(coro, context=context)
        # Kept, so that what a dead process left is not collected, which would run its `finally`s.
        self._tasks.append(task)
        if len(self._tasks) > self._most_tasks:
            self._tasks = [each for each in self._tasks if not each.done()]
            self._most_tasks = max(_FEW_TASKS, 2 * len(self._tasks))
        return task

    def _process_of(self, context: Context | None) -> Process:
        if context is None:
            return _CURRENT.get(self.outside)
        return context.get(_CURRENT, self.outside)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the heap until its moment."""

    def _run_once(self) -> None:
        self._ring()
        runnable = [process for process in self._processes if process.is_runnable]
        while not runnable:
            self._let_time_pass()
            runnable = [process for process in self._processes if process.is_runnable]
        place = self._chance.randrange(len(runnable)) if len(runnable) > 1 else 0
        process = runnable[place]
        handle = process.ready.popleft()
        if handle.cancelled():
            return
        self.steps += 1
        self._trace.step(process.name, self._now_s)
        handle._run()

    def _ring(self) -> None:
        while self._timers and self._timers[0][0] <= self._now_s:
            _, _, handle, process = heapq.heappop(self._timers)
            if process.is_alive and not handle.cancelled():
                process.ready.append(handle)

    def _let_time_pass(self) -> None:
        while self._timers and (self._timers[0][2].cancelled() or not self._timers[0][3].is_alive):
            heapq.heappop(self._timers)
        if not self._timers:
            raise Stuck(f"at {self._now_s:.3f} s nothing can happen any more")
        self._now_s = self._timers[0][0]
        self._ring()

    # The end --------------------------------------------------------------------------------------

    def bury(self) -> None:
        """Take apart whatever still waits, so that nothing is left to the garbage collector."""
        self.set_exception_handler(lambda *_: None)
        for process in self._processes:
            process.is_alive = False
            process.ready.clear()
        for task in self._tasks:
            if not task.done():
                coroutine = task.get_coro()
                assert isinstance(coroutine, Coroutine)
                self._close(coroutine)
        self._tasks.clear()
        self._timers.clear()

    def _close(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            coroutine.close()
        except RuntimeError:
            return  # it awaits something while it is closed, and is past that then
