"""Tables that stand still: an audit or an operator stopped them, or their rows do not replay.

The first kind is kept in the database. The second is found anew at each start, so that a version
that can read the rows heals them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey.table.errors import TableIsClosed
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.engine.errors import TableQuarantined
from services.engine.metrics import QUARANTINED
from services.engine.operators import Operators, Stopped
from services.engine.shards import shard_of

_UNREADABLE: Final = 0
"""The moment of tables that this process found unreadable; nobody knows since when they are."""

_log = get_logger(__name__)


class Quarantine:
    """Which tables stand still, and since when."""

    def __init__(self, operators: Operators, clock: Clock) -> None:
        self._operators = operators
        self._clock = clock
        self._stopped: dict[str, Stopped] = {}
        self._suspended: set[str] = set()
        self._suspending = asyncio.Lock()

    @property
    def tables(self) -> Mapping[str, Stopped]:
        """By id."""
        return self._stopped

    async def look(self, is_ours: Callable[[str], bool]) -> list[str]:
        """Remember what other processes were told about our tables, and forget what does not hold
        any more; the tables that stand still from now on.
        """
        seen = self._stopped
        told = {t: why for t, why in (await self._operators.stopped()).items() if is_ours(t)}
        if self._stopped is not seen:
            return []  # something was decided here meanwhile: the next look sees it
        unreadable = {t: stopped for t, stopped in seen.items() if stopped.at_ms == _UNREADABLE}
        self._set(unreadable | told)
        return sorted(told.keys() - seen.keys())

    def forget_shards(self, shards: Collection[int]) -> None:
        """Other engines have these shards' tables now."""
        self._set({t: why for t, why in self._stopped.items() if shard_of(t) not in shards})

    def _set(self, stopped: dict[str, Stopped]) -> None:
        self._stopped = stopped
        QUARANTINED.set(len(stopped))

    def refuse(self, table_id: str) -> None:
        """Raises ``TableQuarantined`` for a table that stands still."""
        if table_id in self._stopped:
            raise self._refusal(table_id)

    def refuse_load(self, table_id: str) -> None:
        """As ``refuse``, but not while the quarantine is suspended."""
        if table_id not in self._suspended:
            self.refuse(table_id)

    async def stop(self, table_id: str, reason: str) -> bool:
        """From now on it stands still, also in the next process; whether it did not before.

        One that does so because its rows do not replay would else go on once they do.
        """
        known = self._stopped.get(table_id)
        stopped = Stopped(self._clock.now_ms() if known is None else known.at_ms, reason)
        await self._operators.stop(table_id, stopped)
        if known is not None:
            return False
        self.note(table_id, stopped)
        _log.error("table_quarantined", table_id=table_id, reason=reason)
        return True

    async def refuse_if_voided(self, table_id: str) -> None:
        """Raises ``TableIsClosed`` for a table that was voided past its journal, which may not say
        so whatever can be read of it.
        """
        voided = await self._operators.voided(table_id)
        if voided is not None and voided.is_done:
            raise TableIsClosed(f"table {table_id} was voided by an operator; open another one")

    @contextmanager
    def judging(self, table_id: str, let_go: Callable[[str], None]) -> Iterator[None]:
        """Around reading a table and taking it over. An error that is no outage is the table's own
        fault: the table is quarantined until an operator releases it or a new process tries.
        """
        try:
            yield
        except (Unavailable, Exhausted):
            raise
        except Exception as error:
            let_go(table_id)
            why = f"its rows do not replay ({type(error).__name__})"
            self.note(table_id, Stopped(_UNREADABLE, why))
            _log.error("table_quarantined", table_id=table_id, exc_info=error)
            raise self._refusal(table_id) from error

    @asynccontextmanager
    async def suspended(
        self, table_id: str, let_go: Callable[[str], None]
    ) -> AsyncIterator[Stopped | None]:
        """Let whoever enters, and nobody else, load the table and use it; where that ends well it
        goes on for everybody, else it is let go and stands still as before.

        One at a time; None where the table does not stand still.
        """
        async with self._suspending:
            stopped = self._stopped.get(table_id)
            if stopped is None:
                yield None
                return
            self._suspended.add(table_id)
            try:
                yield stopped
                await self.lift(table_id)
            except BaseException:  # also where the caller goes away meanwhile
                let_go(table_id)
                raise
            finally:
                self._suspended.discard(table_id)

    def forget(self, table_id: str) -> None:
        """The table is no more."""
        self._set({t: why for t, why in self._stopped.items() if t != table_id})

    async def lift(self, table_id: str) -> Stopped | None:
        """It may go on; since when it stood still, if it did."""
        await self._operators.lift(table_id)
        stopped = self._stopped.get(table_id)
        self.forget(table_id)
        return stopped

    def note(self, table_id: str, stopped: Stopped) -> None:
        """It stands still in this process."""
        self._set({**self._stopped, table_id: stopped})

    def _refusal(self, table_id: str) -> TableQuarantined:
        return TableQuarantined(f"table {table_id} stands still; operators are told")
