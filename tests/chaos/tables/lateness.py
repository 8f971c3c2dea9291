"""Whether the clients themselves ran: who is awake by its script may have been kept from playing by
the machine.
"""

from typing import Final

from okey_runtime.clock import Clock
from tests.chaos.tables.history import PAUSED, Outage

CLIENTS: Final = "the clients"
_BEAT_MS: Final = 100
_LATE_MS: Final = 100


class Lateness:
    """The times in which the clients' process did not get its turn; ``run`` must be running."""

    def __init__(self, clock: Clock) -> None:
        self.stops: Final[list[Outage]] = []
        self._clock = clock

    async def run(self) -> None:
        """Note each of them, for as long as the clients play."""
        while True:
            due_ms = self._clock.monotonic_ms() + _BEAT_MS
            await self._clock.sleep_until_ms(due_ms)
            late_ms = self._clock.monotonic_ms() - due_ms
            if late_ms > _LATE_MS:
                now_ms = self._clock.now_ms()
                self.stops.append(Outage(CLIENTS, PAUSED, now_ms - late_ms, now_ms))
