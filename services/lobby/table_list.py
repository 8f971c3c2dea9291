"""The list of open public tables: a copy of the engine's in Redis, renewed by whichever replica
comes first.

The copy is made anew as a whole, so whatever was lost or went wrong is right with the next one.
Keys, in one cluster slot by their hash tag, written by scripts only:

- ``okey:{tables}:list``     hash: ``copy``, a ``ListTablesResponse`` without a page token, and
  ``turn``, the number of the renewal that made it; goes away after ``KEEP_MS``
- ``okey:{tables}:renewal``  stands while the newest renewal has begun a moment ago
- ``okey:{tables}:turn``     counter of renewals
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from okey.api.lobby.v1 import lobby_pb2
from okey.errors import Unavailable
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from services.lobby.engine_tables import EngineTables
from services.lobby.listed import is_listed, listed
from services.lobby.listing import Listing
from services.lobby.metrics import LIST_AS_OF, LIST_RENEWALS, LISTED

RENEWAL_MS: Final = 500
"""How often the copy is renewed, by all replicas together."""
KEEP_MS: Final = 30_000
"""How old a copy may get while the engine cannot be asked; afterwards there is no list."""

_LIST: Final = "okey:{tables}:list"
_RENEWAL: Final = "okey:{tables}:renewal"
_TURN: Final = "okey:{tables}:turn"
_REMEMBERED_MS: Final = 200
_UNASKED_MS: Final = 1_000
_SCRIPTS: Final = Path(__file__).with_name("scripts") / "tables"


_NOTHING: Final = Listing((), 0)


class TableListUnavailable(Unavailable):
    """There is no list to show; tables can still be joined by their id."""

    reason = "TABLE_LIST_UNAVAILABLE"


class TableList:
    """Reads and renews the copy; a replica remembers what it has read for a fifth of a second."""

    def __init__(self, redis: Redis, engine: EngineTables, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._begin, self._publish, self._newest = (
            redis.register_script((_SCRIPTS / f"{name}.lua").read_text("utf-8"))
            for name in ("begin", "publish", "newest")
        )
        self._turn = 0
        self._remembered = _NOTHING
        self._remembered_until_ms = 0
        self._reading: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Renew for as long as the service lives."""
        await repeat("table-list", self._tend, RENEWAL_MS, self._clock)

    async def _tend(self) -> None:
        self.forget_if_old()
        await self.renew_if_due()

    def forget_if_old(self) -> None:
        """Forget what nobody has asked for lately: there are names in it, and players may have
        been erased since.
        """
        is_old = self._clock.monotonic_ms() >= self._remembered_until_ms + _UNASKED_MS
        if is_old and self._reading is None:
            self._remembered, self._turn = _NOTHING, 0

    async def renew_if_due(self) -> None:
        """Copy the engine's list, unless a replica has begun to within the last ``RENEWAL_MS``.

        A renewal that was overtaken by a later one changes nothing.

        Raises:
            TableListUnavailable: Redis is away.
            RpcFailure: the engine could not be asked; the old copy stays.
        """
        with _or_unavailable():
            turn = await self._begin(keys=[_RENEWAL, _TURN], args=[RENEWAL_MS * 9 // 10])
        if not turn:
            return
        as_of_ms = self._clock.now_ms()
        tables = [listed(table) async for table in self._engine.list_tables() if is_listed(table)]
        copy = lobby_pb2.ListTablesResponse(tables=tables, as_of_ms=as_of_ms)
        with _or_unavailable():
            is_newest = await self._publish(
                keys=[_LIST], args=[turn, copy.SerializeToString(), KEEP_MS]
            )
        LIST_RENEWALS.labels("published" if is_newest else "overtaken").inc()
        if is_newest:
            LIST_AS_OF.set(as_of_ms / 1000)

    async def newest(self) -> Listing:
        """Every open public table, and when the copy was made.

        Raises:
            TableListUnavailable: Redis is away, or holds no copy.
        """
        if self._clock.monotonic_ms() >= self._remembered_until_ms:
            if self._reading is None:
                # Once for all who ask at the same time.
                self._reading = asyncio.create_task(self._read())
                self._reading.add_done_callback(self._has_read)
            await asyncio.shield(self._reading)
        return self._remembered

    async def _read(self) -> None:
        began_ms = self._clock.monotonic_ms()
        with _or_unavailable():
            turn, *copies = await self._newest(keys=[_LIST], args=[self._turn])
        if not turn:
            self._turn = 0  # counted anew, where Redis has lost everything
            raise TableListUnavailable("the list of tables is being made: ask again in a moment")
        for copy in copies:
            self._remembered, self._turn = _listing(copy), turn
            LISTED.set(len(self._remembered.tables))
            LIST_AS_OF.set(self._remembered.as_of_ms / 1000)
        self._remembered_until_ms = began_ms + _REMEMBERED_MS

    def _has_read(self, reading: asyncio.Task[None]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # it was told, whether or not anybody still waits for it


def _listing(copy: bytes) -> Listing:
    try:
        stored = lobby_pb2.ListTablesResponse.FromString(copy)
    except DecodeError as error:
        raise TableListUnavailable(f"{_LIST} holds no list: it is renewed shortly") from error
    return Listing(stored.tables, stored.as_of_ms)


@contextmanager
def _or_unavailable() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise TableListUnavailable(
            "the list of tables is not available right now: ask again in a moment"
        ) from error
