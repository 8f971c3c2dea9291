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
    """A clock by a time that all engines share, read half-way between asking and being answered.

    So it is wrong by up to half of what the answer took, and a player's clock with it where a table
    changes hands: a slow answer is asked for again, and the quickest one counts.
    """
    looks: list[tuple[int, int]] = []
    while len(looks) < _MOST_LOOKS and (not looks or min(looks)[0] > _QUICK_MS):
        asked_ms = machine.monotonic_ms()
        now_ms = await ask()
        answered_ms = machine.monotonic_ms()
        looks.append((answered_ms - asked_ms, now_ms - (asked_ms + answered_ms) // 2))
    return SteadyClock(machine, min(looks)[1])
