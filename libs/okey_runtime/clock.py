"""Time as something passed in: the system's clock for services, a virtual one that tests turn by
hand.
"""

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is recorded, monotonic time for what is measured; both in milliseconds."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch; may jump when the machine's clock is set."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some fixed moment; never goes backwards."""
        ...

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        """Return once ``monotonic_ms()`` has reached the given moment."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds of the machine's monotonic clock."""
        return time.monotonic_ns() // 1_000_000

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        """Wait; rounding never lets it return early."""
        while True:
            left_ms = monotonic_ms - self.monotonic_ms()
            if left_ms <= 0:
                return
            await asyncio.sleep(left_ms / 1000)


class VirtualClock:
    """A clock that stands still until ``advance_ms`` turns it; sleepers wake in the order of their
    moments.
    """

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """The virtual wall time."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """The virtual time since this clock was made."""
        return self._monotonic_ms

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        """Wait until ``advance_ms`` has brought the clock to that moment."""
        if monotonic_ms <= self._monotonic_ms:
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (monotonic_ms, next(self._order), woken))
        await woken

    def advance_ms(self, by_ms: int) -> None:
        """Turn both clocks forward and wake whoever is due (they run when the loop gets its turn).

        Raises:
            ValueError: ``by_ms`` is negative; time does not go back.
        """
        if by_ms < 0:
            raise ValueError(f"a clock cannot be advanced by {by_ms} ms: give 0 or more")
        self._now_ms += by_ms
        self._monotonic_ms += by_ms
        while self._sleepers and self._sleepers[0][0] <= self._monotonic_ms:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
