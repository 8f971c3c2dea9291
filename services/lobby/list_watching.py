"""Following a list of tables: its first page, then what changes in it."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Final

from okey.api.lobby.v1 import lobby_pb2
from okey.errors import Exhausted
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from okey_runtime.revocation import Revocations
from services.lobby.listing import NewestListing
from services.lobby.metrics import LIST_WATCHERS
from services.lobby.table_list import RENEWAL_MS
from services.lobby.ticket_watch import LobbyStopping

_RETRY_AFTER_MS: Final = 10_000


class WatchersExhausted(Exhausted):
    """This replica has as many list streams as it serves; ListTables still answers."""

    reason = "WATCHERS_EXHAUSTED"

    @property
    def retry_after_ms(self) -> int:
        """When another try makes sense."""
        return _RETRY_AFTER_MS


class Shown:
    """What a watcher knows of its list."""

    def __init__(self) -> None:
        self._tables: dict[str, lobby_pb2.ListedTable] | None = None

    def step(self, page: lobby_pb2.ListTablesResponse) -> lobby_pb2.WatchTablesResponse | None:
        """How the list got to this page, None where nothing changed; the first step is all of
        it.
        """
        known = self._tables or {}
        now = {table.table_id: table for table in page.tables}
        # A table that has only moved in the order has not changed.
        if self._tables is not None and list(now.items()) == list(known.items()):
            return None
        self._tables = now
        return lobby_pb2.WatchTablesResponse(
            changed=[now[each] for each in sorted(now) if known.get(each) != now[each]],
            gone_table_ids=sorted(known.keys() - now.keys()),
            table_ids=list(now),
            as_of_ms=page.as_of_ms,
        )


class ListWatches:
    """The open streams of this replica, at most so many."""

    def __init__(
        self, tables: NewestListing, clock: Clock, most: int, revocations: Revocations
    ) -> None:
        self._revocations = revocations
        self._tables = tables
        self._clock = clock
        self._most = most
        self._open = 0
        self._is_stopping = False

    def end(self) -> None:
        """Let every stream end soon, so that it goes on at another replica."""
        self._is_stopping = True

    async def follow(
        self, request: lobby_pb2.ListTablesRequest, caller: Identity
    ) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
        """The list, then its changes, until the caller goes or its token ends.

        Raises:
            WatchersExhausted: too many streams are open.
            TableListUnavailable: there is no list any more.
            LobbyStopping, TokenExpired: to be watched again.
            TokenRevoked, SessionReplaced: the player has to sign in again.
        """
        with self._place():
            shown = Shown()
            while True:
                step = shown.step((await self._tables.newest()).page(request))
                if step is not None:
                    yield step
                if self._is_stopping:
                    raise LobbyStopping("this replica stops: watch again")
                self._revocations.refuse_ended(caller)
                await self._clock.sleep_until_ms(self._clock.monotonic_ms() + RENEWAL_MS)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._open >= self._most:
            raise WatchersExhausted(
                f"{self._open} lists are watched, as many as this replica serves: use ListTables, "
                f"or try again in {_RETRY_AFTER_MS} ms"
            )
        self._open += 1
        LIST_WATCHERS.inc()
        try:
            yield
        finally:
            self._open -= 1
            LIST_WATCHERS.dec()
