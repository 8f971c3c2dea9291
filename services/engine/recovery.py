"""Tables that came to this engine load in the order of their clocks, while it serves already.

A clock goes on when its table is loaded, with what it had left when an engine last was alive: a
table that waits for its turn loses nothing by it. Whoever asks for a table has it loaded at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from heapq import heappop, heappush
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.backoff import waits_s
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.engine.errors import TableQuarantined
from services.engine.gathering import MOST_KEYS
from services.engine.journal import Unretired
from services.engine.metrics import UNLOADED
from services.engine.shards import shard_of

_LOADED_AT_ONCE: Final = 2 * MOST_KEYS
"""While so many as are read together are worked on, the next are read."""

_log = get_logger(__name__)


class Recovery:
    """The tables that came to this engine and are not loaded yet; ``run`` must be running."""

    def __init__(self, clock: Clock, load: Callable[[str, int], Awaitable[object]]) -> None:
        """``load`` gets a table and when it was last owned; it raises ``TableQuarantined``,
        ``DatabaseAway`` or ``DatabaseBusy``.
        """
        self._clock = clock
        self._load = load
        self._left: dict[str, int] = {}
        self._by_deadline: list[tuple[int, str]] = []
        self._has_more = asyncio.Event()
        self._is_over = asyncio.Event()
        self._is_over.set()

    def add(self, tables: Iterable[Unretired], since: Callable[[str], int]) -> int:
        """These are to be loaded, whose clocks stand still ``since`` a moment; how many there are.

        Those that wait for an answer have no clock and come first.
        """
        count = 0
        for table in tables:
            self._left[table.table_id] = since(table.table_id)
            heappush(self._by_deadline, (table.deadline_ms or 0, table.table_id))
            count += 1
        self._tell()
        return count

    @property
    def is_over(self) -> bool:
        """Whether every table is loaded or found to be unreadable."""
        return not self._left

    def unloaded(self) -> int:
        """How many tables are still to be loaded."""
        return len(self._left)

    def unloaded_shards(self) -> frozenset[int]:
        """The shards of which a table is still to be loaded."""
        return frozenset(shard_of(table_id) for table_id in self._left)

    def has(self, table_id: str) -> bool:
        """Whether the table is still to be loaded: it has something left to do."""
        return table_id in self._left

    def last_alive_ms(self, table_id: str) -> int:
        """When a table that is to be loaded now was last owned."""
        return self._left.get(table_id, self._clock.now_ms())

    def drop(self, table_id: str) -> None:
        """The table is loaded, or cannot be."""
        if self._left.pop(table_id, None) is not None:
            self._tell()

    def drop_shards(self, shards: Collection[int]) -> None:
        """Tables of these shards are not ours to be loaded any more."""
        self._left = {t: ms for t, ms in self._left.items() if shard_of(t) not in shards}
        self._tell()

    def _tell(self) -> None:
        UNLOADED.set(len(self._left))
        if self._left:
            self._is_over.clear()
            self._has_more.set()
        else:
            self._is_over.set()
            self._has_more.clear()

    async def over(self) -> None:
        """Return once it is over."""
        await self._is_over.wait()

    async def run(self) -> None:
        """Load whatever there is, for as long as the engine lives; what fails for the database's
        sake is tried again.
        """
        waits = waits_s()
        failures = 0
        while True:
            if not self._left:
                if failures:
                    _log.info("tables_loaded", failed_tries=failures)
                waits, failures = waits_s(), 0
                await self._has_more.wait()
            failed = await asyncio.gather(*(self._work() for _ in range(_LOADED_AT_ONCE)))
            if any(failed):
                failures += 1
                level = logging.WARNING if failures == 1 else logging.DEBUG
                _log.log(level, "tables_not_loaded", left=len(self._left), tries=failures)
                await asyncio.sleep(next(waits))

    async def _work(self) -> bool:
        """Load one after another; whether the database failed."""
        while self._by_deadline:
            first = heappop(self._by_deadline)
            table_id = first[1]
            if table_id not in self._left:
                continue  # somebody asked for it meanwhile
            try:
                await self._load(table_id, self._left[table_id])
            except TableQuarantined:
                self.drop(table_id)
            except (Unavailable, Exhausted) as error:
                _log.debug("table_not_loaded", table_id=table_id, error=str(error))
                if table_id in self._left:
                    heappush(self._by_deadline, first)
                    return True
        return False
