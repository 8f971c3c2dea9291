"""Virtual time as the services read it."""

import asyncio
from typing import Final

from tests.simulation.loop import SimulatedLoop

_EPOCH_MS: Final = 1_700_000_000_000
_STARTED_MS: Final = 5_000_000
"""Every machine runs already for a while."""
_ROUNDING_S: Final = 1e-6


class SimulatedClock:
    """A ``Clock`` of the loop's time."""

    def __init__(self, loop: SimulatedLoop, skew_ms: int = 0) -> None:
        self._loop = loop
        self._skew_ms = skew_ms

    def now_ms(self) -> int:
        """Since the epoch."""
        return _EPOCH_MS + self._skew_ms + int(self._loop.time() * 1_000)

    def monotonic_ms(self) -> int:
        """Since the machine was started."""
        return _STARTED_MS + int(self._loop.time() * 1_000)

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        """Wait; never returns early."""
        due_s = (monotonic_ms - _STARTED_MS) / 1_000
        if due_s > self._loop.time():
            reached = self._loop.create_future()
            # Rounding never lets it come early.
            self._loop.call_at(due_s + _ROUNDING_S, _reach, reached)
            await reached


def _reach(reached: "asyncio.Future[None]") -> None:
    if not reached.done():
        reached.set_result(None)
