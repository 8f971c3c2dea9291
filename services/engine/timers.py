"""Every table's running clocks in one heap."""

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Final

from okey.table.commands import Timer
from services.engine.metrics import TIMER_LATE_SECONDS
from services.engine.steady_clock import SteadyClock

Ring = Callable[[str, Timer], None]
"""Called with table and clock when it is due; must not block."""

_LONGEST_SLEEP_MS: Final = 3_600_000


class Timers:
    """Rings each armed clock once when it is due, never early; ``run`` must be running.

    A clock that is replaced stays in the heap until its moment and is then passed over.
    """

    def __init__(self, clock: SteadyClock, ring: Ring, notice: Callable[[], None]) -> None:
        """``notice`` is called before anything rings; it may ``clear`` everything."""
        self._clock = clock
        self._ring = ring
        self._notice = notice
        self._armed: dict[str, set[Timer]] = {}
        self._heap: list[tuple[int, int, str, Timer]] = []
        self._order = itertools.count()
        self._sooner = asyncio.Event()

    def arm(self, table_id: str, timers: Iterable[Timer]) -> None:
        """From now on exactly these clocks run for the table."""
        wanted = set(timers)
        known = self._armed.get(table_id, set())
        for timer in wanted - known:
            entry = (timer.deadline_ms, next(self._order), table_id, timer)
            if not self._heap or entry < self._heap[0]:
                self._sooner.set()
            heapq.heappush(self._heap, entry)
        if wanted:
            self._armed[table_id] = wanted
        else:
            self._armed.pop(table_id, None)

    def disarm(self, table_id: str) -> None:
        """No clock runs for the table any more."""
        self._armed.pop(table_id, None)

    def clear(self) -> None:
        """No clock runs for any table, until it is armed again."""
        self._armed.clear()
        self._heap.clear()

    async def run(self) -> None:
        """Ring for as long as the engine lives."""
        while True:
            self._sooner.clear()
            self._ring_due()
            wait = asyncio.ensure_future(self._sooner.wait())
            sleep = asyncio.ensure_future(self._clock.sleep_until_ms(self._next_ms()))
            try:
                await asyncio.wait((wait, sleep), return_when=asyncio.FIRST_COMPLETED)
            finally:
                wait.cancel()
                sleep.cancel()

    def _next_ms(self) -> int:
        longest_ms = self._clock.monotonic_ms() + _LONGEST_SLEEP_MS
        if not self._heap:
            return longest_ms
        return min(longest_ms, self._clock.monotonic_of(self._heap[0][0]))

    def _ring_due(self) -> None:
        self._notice()
        now_ms = self._clock.now_ms()
        while self._heap and self._heap[0][0] <= now_ms:
            _, _, table_id, timer = heapq.heappop(self._heap)
            armed = self._armed.get(table_id)
            if armed is None or timer not in armed:
                continue
            armed.discard(timer)
            TIMER_LATE_SECONDS.observe((now_ms - timer.deadline_ms) / 1000)
            self._ring(table_id, timer)
