"""Up to when everything was right at an engine's tables: what it says with each renewal.

Whoever takes its tables over gives every clock what it had left at that moment, so no renewal may
hide a time in which clocks stood still.
"""

import asyncio
from collections.abc import Iterable

from services.engine.accepted import Accepted
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.tables import Tables


class Right:
    """The moment, in milliseconds of the engines' common time."""

    def __init__(self, clock: SteadyClock, standstill: Standstill, tables: Tables) -> None:
        self._clock = clock
        self._standstill = standstill
        self._tables = tables
        self._takeovers: list[asyncio.Future[Accepted]] = []
        self._ms = 0

    def begin(self) -> None:
        """From now on everything is right."""
        self._ms = self._clock.now_ms()

    def go_on(self, takeovers: Iterable[asyncio.Future[Accepted]]) -> None:
        """A standstill has ended; clocks go again once these are committed."""
        self._takeovers += takeovers

    @property
    def is_now(self) -> bool:
        """Whether every clock goes."""
        self._standstill.notice()  # this may be the first thing that runs after a pause
        is_settled = self._tables.is_settled and all(each.done() for each in self._takeovers)
        return not self._standstill.is_on and is_settled

    def ms(self) -> int:
        """Now, or where clocks have not been set going again yet the moment when they stopped."""
        if self.is_now:
            self._takeovers = []
            self._ms = self._clock.now_ms()
        elif self._standstill.since_ms is not None:
            self._ms = min(self._ms, self._standstill.since_ms)
        return self._ms

    def before_giving(self) -> int | None:
        """The moment if it is in the past, for tables that are given away: those that decide no
        more refuse to be taken over too, which shall not pass for a clock that goes.
        """
        return None if self.is_now else self.ms()
