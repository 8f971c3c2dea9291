"""The engine's time: wall time that runs with the monotonic clock.

Deadlines are wall time, since they outlast the process, but a machine whose clock is set must not
ring or stretch them: so the wall is read once, and from then on it moves as the monotonic clock.
An engine reads it off the database, so that all engines have the same whatever their machines'.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from okey_runtime.clock import Clock

_QUICK_MS: Final = 20
_MOST_LOOKS: Final = 10


class SteadyClock:
    """A ``Clock`` whose ``now_ms`` never jumps."""

    def __init__(self, clock: Clock, offset_ms: int | None = None) -> None:
        """``offset_ms`` is what the wall is ahead of the monotonic clock, else as it is now."""
        self._clock = clock
        if offset_ms is None:
            offset_ms = clock.now_ms() - clock.monotonic_ms()
        self._offset_ms = offset_ms

    def now_ms(self) -> int:
        """Milliseconds since the epoch, as the wall was when this clock was made."""
        return self._clock.monotonic_ms() + self._offset_ms

    def monotonic_ms(self) -> int:
        """Milliseconds of the monotonic clock."""
        return self._clock.monotonic_ms()

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        """Return once ``monotonic_ms()`` has reached the given moment."""
        await self._clock.sleep_until_ms(monotonic_ms)

    def monotonic_of(self, wall_ms: int) -> int:
        """The monotonic moment at which ``now_ms`` is ``wall_ms``."""
        return wall_ms - self._offset_ms


async def common_clock(machine: Clock, ask: Callable[[], Awaitable[int]]) -> SteadyClock:
    """A clock by a time that all engines share.

    Whatever it was wrong by, a player's clock would be too where a table changes hands. The time
    was told at some moment between the question and the reading of its answer, which may have lain
    unread for long: so each answer only bounds by how much the clocks differ, and others are asked
    for until the bounds lie close to each other, or are no better after ten.
    """
    least_ms, most_ms = await _bounds(machine, ask)
    for _ in range(_MOST_LOOKS - 1):
        if most_ms - least_ms <= _QUICK_MS:
            break
        at_least_ms, at_most_ms = await _bounds(machine, ask)
        least_ms, most_ms = max(least_ms, at_least_ms), min(most_ms, at_most_ms)
        # A millisecond is what rounding costs; more says that one of the two was set meanwhile.
        if least_ms > most_ms + 1:
            least_ms, most_ms = at_least_ms, at_most_ms
    return SteadyClock(machine, (least_ms + most_ms) // 2)


async def _bounds(machine: Clock, ask: Callable[[], Awaitable[int]]) -> tuple[int, int]:
    """By how much the common time is at least and at most ahead of the monotonic clock."""
    asked_ms = machine.monotonic_ms()
    now_ms = await ask()
    return now_ms - machine.monotonic_ms(), now_ms - asked_ms
