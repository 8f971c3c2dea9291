"""Tables that were lost: nobody knows which way their journal went, so they are loaded anew."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.backoff import waits_s
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger
from services.engine.caught import Caught
from services.engine.errors import TableQuarantined, TableReloading

WAIT_S: Final = 1.0

_log = get_logger(__name__)


class Reloads:
    """Which tables are being loaded anew; falsy where none is."""

    def __init__(self, load: Callable[[str, int], Awaitable[None]]) -> None:
        """``load`` gets the table and the moment since which its clocks stand still."""
        self._load = load
        self._loading: dict[str, asyncio.Event] = {}
        self._loaded = 0
        self._failures = 0

    def __bool__(self) -> bool:
        return bool(self._loading)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loading)

    def is_loading(self, table_id: str) -> bool:
        """Whether the table is being loaded anew."""
        return table_id in self._loading

    def refuse(self, table_id: str) -> None:
        """Raises ``TableReloading`` for a table that is being loaded anew."""
        if table_id in self._loading:
            raise TableReloading(f"table {table_id} is being loaded; send the request again")

    async def wait(self, table_id: str) -> None:
        """Return once the table is not being loaded, or after a moment: most are back by then."""
        loaded = self._loading.get(table_id)
        if loaded is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S):
                    await loaded.wait()

    def load(self, table_id: str, since_ms: int) -> Coroutine[Any, Any, None]:
        """Load a table, again and again until the database lets it; it is refused from now on."""
        self._loading[table_id] = asyncio.Event()
        return self._until_loaded(table_id, since_ms)

    async def _until_loaded(self, table_id: str, since_ms: int) -> None:
        try:
            for wait_s in waits_s():
                with Caught() as caught:
                    await self._load(table_id, since_ms)
                if caught.error is None or isinstance(caught.error, TableQuarantined):
                    return
                self._note_failure(table_id, caught.error)
                await asyncio.sleep(wait_s)
        finally:
            self._done(table_id)

    def _note_failure(self, table_id: str, error: Exception) -> None:
        self._failures += 1
        if isinstance(error, Unavailable | Exhausted):
            _log.debug("reload_failed", table_id=table_id, error=str(error))
            return
        # Nobody foresaw it: it is tried again all the same, or the table would stop for good.
        line, is_due = LINES.take(("reload_failed", type(error)), "error")
        if is_due:
            _log.error("reload_failed", table_id=table_id, left_out=line.left_out, exc_info=error)

    def _done(self, table_id: str) -> None:
        """One less; once there is none left, say how many there were since the first."""
        self._loading.pop(table_id).set()
        self._loaded += 1
        if not self._loading:
            _log.info("tables_reloaded", count=self._loaded, failures=self._failures)
            self._loaded = self._failures = 0
