"""Moves tables that were closed long ago to the archive, a few at a time, while others play."""

from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.logging import get_logger
from services.engine.archive import Archive
from services.engine.metrics import ARCHIVED
from services.engine.steady_clock import SteadyClock

_EVERY_MS: Final = 60_000
_MOST: Final = 200

_log = get_logger(__name__)


class Archiving:
    """``after_ms`` is how long a closed table stays in the journal; after each one players have
    ``pause_ms`` for their own commits.
    """

    def __init__(
        self, archive: Archive, clock: SteadyClock, after_ms: int, pause_ms: int = 20
    ) -> None:
        self._archive = archive
        self._clock = clock
        self._after_ms = after_ms
        self._pause_ms = pause_ms

    async def run(self) -> None:
        """Look every minute, for as long as the engine lives; never, where ``after_ms`` is 0."""
        while self._after_ms:
            try:
                count = await self.move_due()
            except (Unavailable, Exhausted) as error:
                _log.warning("archiving_failed", error=str(error))
                count = 0
            # A full batch is followed by the next one at once.
            await self._pause(0 if count == _MOST else _EVERY_MS)

    async def move_due(self) -> int:
        """Move one batch, each table in a transaction of its own; how many there were.

        Raises ``DatabaseAway`` or ``DatabaseBusy``; what was moved stays moved.
        """
        now_ms = self._clock.now_ms()
        due = await self._archive.due(now_ms - self._after_ms, _MOST)
        for table_id in due:
            await self._archive.move(table_id, now_ms)
            ARCHIVED.inc()
            await self._pause(self._pause_ms)
        if due:
            _log.info("tables_archived", count=len(due))
        return len(due)

    async def _pause(self, ms: int) -> None:
        await self._clock.sleep_until_ms(self._clock.monotonic_ms() + ms)
