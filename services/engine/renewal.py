"""Says every two seconds that this engine lives, and after a standstill that it goes on."""

import asyncio
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.backoff import waits_s
from okey_runtime.logging import get_logger
from services.engine.accepted import Accepted
from services.engine.journal import Journal
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from services.engine.tables import Tables

RENEW_EVERY_MS: Final = 2_000

_log = get_logger(__name__)


class Renewal:
    """Renews the engine's place among the members: whoever takes its tables over gives every clock
    what it had left at the last renewal. So no renewal hides a time in which the clocks stood
    still.
    """

    def __init__(
        self,
        journal: Journal,
        clock: SteadyClock,
        standstill: Standstill,
        tables: Tables,
        engine: str,
        address: str,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._standstill = standstill
        self._tables = tables
        self._engine = engine
        self._address = address
        self._takeovers: list[asyncio.Future[Accepted]] = []
        self._alive_ms = 0

    async def run(self) -> None:
        """Renew, for as long as the engine lives.

        Until every table is loaded that was there at the start, the moment is that of the engine
        before: a table that is not loaded may still need it.
        """
        self._alive_ms = self._tables.inherited_ms
        while True:
            await self.renew()
            if self._standstill.is_on:
                await self._until_back()
            next_ms = self._clock.monotonic_ms() + RENEW_EVERY_MS
            await self._until(next_ms)

    async def renew(self) -> bool:
        """Tell the database when everything was last right; whether it has answered."""
        try:
            with self._standstill.asking():
                await self._journal.renew(self._engine, self._address, self._right_ms())
        except Unavailable:
            return False  # the engine stands still, and has said so
        except Exhausted as error:
            _log.warning("renewal_failed", error=str(error))
            return False
        return True

    def _right_ms(self) -> int:
        """Now, or where clocks have not been set going again yet the moment when they stopped."""
        since_ms = self._standstill.since_ms
        is_settled = self._tables.is_settled and all(each.done() for each in self._takeovers)
        if since_ms is None and is_settled:
            self._takeovers = []
            self._alive_ms = self._clock.now_ms()
        elif since_ms is not None:
            self._alive_ms = min(self._alive_ms, since_ms)
        return self._alive_ms

    async def _until_back(self) -> None:
        for wait_s in waits_s():
            if await self.renew() and self._standstill.can_end():
                break
            await asyncio.sleep(wait_s)
        self._takeovers += self._tables.go_on()

    async def _until(self, monotonic_ms: int) -> None:
        """Sleep, but not through the beginning of a standstill."""
        sleep = asyncio.ensure_future(self._clock.sleep_until_ms(monotonic_ms))
        began = asyncio.ensure_future(self._standstill.began.wait())
        try:
            await asyncio.wait((sleep, began), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            began.cancel()
