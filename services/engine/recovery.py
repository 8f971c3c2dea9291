"""After a start: tables load in the order of their clocks, while the engine serves already.

A clock goes on when its table is loaded, with what it had left when an engine last was alive: a
table that waits for its turn loses nothing by it. Whoever asks for a table has it loaded at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.backoff import waits_s
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.engine.errors import TableQuarantined
from services.engine.journal import Unretired
from services.engine.metrics import UNLOADED

_LOADED_AT_ONCE: Final = 8

_log = get_logger(__name__)


class Recovery:
    """The tables that were there when the engine started and are not loaded yet."""

    def __init__(self, clock: Clock, load: Callable[[str, int], Awaitable[object]]) -> None:
        """``load`` gets a table and when it was last owned; it raises ``TableQuarantined``,
        ``DatabaseAway`` or ``DatabaseBusy``.
        """
        self._clock = clock
        self._load = load
        self.last_renewal_ms = 0
        """When an engine last was alive before this one."""
        self._left: dict[str, None] = {}
        self._is_over = asyncio.Event()

    def begin(self, tables: Iterable[Unretired], last_renewal_ms: int) -> None:
        """These are to be loaded. Those that wait for an answer have no clock and come first."""
        in_order = sorted(tables, key=lambda table: table.deadline_ms or 0)
        self._left = dict.fromkeys(table.table_id for table in in_order)
        self.last_renewal_ms = last_renewal_ms
        UNLOADED.set(len(self._left))

    @property
    def is_over(self) -> bool:
        """Whether every table is loaded or found to be unreadable."""
        return self._is_over.is_set()

    def last_alive_ms(self, table_id: str) -> int:
        """When a table that is to be loaded now was last owned."""
        return self.last_renewal_ms if table_id in self._left else self._clock.now_ms()

    def drop(self, table_id: str) -> None:
        """The table is loaded, or cannot be."""
        if table_id in self._left:
            del self._left[table_id]
            UNLOADED.set(len(self._left))

    async def over(self) -> None:
        """Return once it is over."""
        await self._is_over.wait()

    async def run(self) -> None:
        """Load all of them; those that fail for the database's sake are tried again."""
        waits = waits_s()
        failures = 0
        while self._left:
            queue = list(reversed(self._left))
            failed = await asyncio.gather(
                *(self._work(queue) for _ in range(min(_LOADED_AT_ONCE, len(queue))))
            )
            if any(failed):
                failures += 1
                level = logging.WARNING if failures == 1 else logging.DEBUG
                _log.log(level, "tables_not_loaded", left=len(self._left), tries=failures)
                await asyncio.sleep(next(waits))
        _log.info("tables_loaded", failed_tries=failures)
        self._is_over.set()

    async def _work(self, queue: list[str]) -> bool:
        """Load one after another; whether the database failed."""
        has_failed = False
        while queue:
            table_id = queue.pop()
            if table_id not in self._left:
                continue  # somebody asked for it meanwhile
            try:
                await self._load(table_id, self.last_renewal_ms)
            except TableQuarantined:
                self.drop(table_id)
            except (Unavailable, Exhausted) as error:
                _log.debug("table_not_loaded", table_id=table_id, error=str(error))
                queue.clear()
                has_failed = True
        return has_failed
