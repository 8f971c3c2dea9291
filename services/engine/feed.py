"""The rows of all tables in the order of their positions, as spectators may see them.

Everybody reads from the journal, a page at a time, so that who is slow costs no memory; a page that
several ask for is read once. Positions become visible in their order (see ``schema.feed``): what
stands after the last row that was read is all that is to come.

A row that only a newer engine can read is not passed over: readers get what comes before it, and
then ``RowNotReadable`` until a newer engine answers them. Rows that nobody can read go by empty:
those that are no protobuf, and those of a table that an operator has voided past its journal.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError
from sqlalchemy import select

from okey.api.events.v1 import events_pb2
from okey.errors import Refused
from okey.table.events import RoundDealt
from okey.table.view import SPECTATOR
from okey_runtime.clock import Clock
from okey_runtime.codec import UndecodableMessage
from okey_runtime.database import Database
from okey_runtime.logging import get_logger
from services.engine.appending import Append, Verdict
from services.engine.archive import StoredRow
from services.engine.background import leave_failure
from services.engine.errors import RowNotReadable
from services.engine.group_commit import Store
from services.engine.record import decode_events
from services.engine.schema import feed, journal, voided
from services.engine.seals import Seals
from services.engine.wire import event_message

PAGE_ROWS: Final = 64

_PAGES_KEPT: Final = 16
_LOOK_EVERY_MS: Final = 1_000

_log = get_logger(__name__)


class CursorAhead(Refused):
    """The cursor stands after everything that has happened here."""

    reason = "CURSOR_AHEAD"


class CursorTooOld(Refused):
    """Not every row after the cursor is kept any more."""

    reason = "CURSOR_TOO_OLD"


@dataclass(frozen=True, slots=True)
class Page:
    """Rows after a position, made into messages; ``last`` is the position of the last one, and
    ``newest_ms`` when it happened.

    ``archived`` is the position of the last row which the archive had when they were read.
    """

    last: int
    newest_ms: int
    rows: tuple[bytes, ...]
    archived: int


class Start(NamedTuple):
    """Where a caller begins: after a position; rows up to ``archived`` may be missing from then on,
    since they had left before it began.
    """

    position: int
    archived: int


class Feed:
    """Gives pages of rows; ``news`` is to be called whenever rows may have been committed."""

    def __init__(self, database: Database, clock: Clock, seals: Seals | None = None) -> None:
        self._database = database
        self._seals = seals or Seals()
        self._clock = clock
        self._news = asyncio.Event()
        self._pages: OrderedDict[int, asyncio.Task[Page]] = OrderedDict()

    async def start(self, cursor: str) -> Start:
        """Where a caller with this cursor begins.

        Raises:
            CursorAhead: there is no such position yet.
            CursorTooOld: rows after it stand in the archive only.
            DatabaseAway, DatabaseBusy: try again.
        """
        last, archived = await self._bounds()
        if cursor == "latest":
            return Start(last, archived)
        if not cursor:
            return Start(0, archived)
        position = int(cursor)
        if position > last:
            raise CursorAhead(
                f"cursor {position} is after the newest row, {last}: it is another platform's, or "
                "this one was restored from a backup; begin with an empty cursor"
            )
        if position < archived:
            raise _too_old(position, archived)
        return Start(position, archived)

    async def after(self, position: int, archived: int = 0) -> Page:
        """The next rows, at most ``PAGE_ROWS``, once there are any.

        Rows up to ``archived`` may be missing: they had left before the caller began.

        Raises:
            CursorTooOld: rows after the position were archived since.
            RowNotReadable: a newer engine wrote the next row.
            DatabaseAway, DatabaseBusy: try again.
        """
        while True:
            news = self._news
            page = await self._page(position)
            if page.archived > max(position, archived):
                raise _too_old(position, page.archived)
            if page.rows:
                return page
            await self._wait(news)

    def news(self) -> None:
        """Rows may have been committed."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _page(self, position: int) -> Page:
        """Read once for all who ask; what was read stays right, so it is kept a while."""
        task = self._pages.get(position)
        if task is None:
            task = self._pages[position] = asyncio.create_task(self._read(position))
            task.add_done_callback(leave_failure)
            while len(self._pages) > _PAGES_KEPT:
                self._pages.popitem(last=False)
        try:
            page = await asyncio.shield(task)
        except BaseException:
            self._forget(position, task)
            raise
        if not page.rows:
            self._forget(position, task)
        return page

    def _forget(self, position: int, task: asyncio.Task[Page]) -> None:
        if self._pages.get(position) is task:
            del self._pages[position]

    async def _read(self, position: int) -> Page:
        query = (
            select(
                journal.c.position,
                journal.c.table_id,
                journal.c.seq,
                journal.c.at_ms,
                journal.c.payload,
            )
            .where(journal.c.position > position)
            .order_by(journal.c.position)
            .limit(PAGE_ROWS)
        )
        bound = select(feed.c.archived)
        archived, rows = await self._database.read(
            lambda c: (c.execute(bound).scalar_one(), c.execute(query).all())
        )
        last, newest_ms, messages = position, 0, list[bytes]()
        for row in rows:
            try:
                events = await self._events(row)
            except RowNotReadable:
                if messages:
                    break
                raise
            last, newest_ms = row.position, row.at_ms
            messages.append(_message(row, events))
        return Page(last, newest_ms, tuple(messages), archived)

    async def _events(self, row: Any) -> list[events_pb2.Event]:
        """What a spectator sees of the row. Raises ``RowNotReadable``."""
        try:
            return _spectators(row, self._seals)
        except DecodeError as error:
            _log.error("row_not_readable", table_id=row.table_id, seq=row.seq, error=str(error))
            return []
        except UndecodableMessage as error:
            _log.error("row_not_readable", table_id=row.table_id, seq=row.seq, error=str(error))
            given_up = select(voided.c.table_id).where(voided.c.table_id == row.table_id)
            if await self._database.read(lambda c: c.execute(given_up).first()):
                return []
            raise RowNotReadable(error, row.table_id, row.seq) from error

    async def _bounds(self) -> tuple[int, int]:
        found = await self._database.read(lambda c: c.execute(select(feed)).one())
        return found.last, found.archived

    async def _wait(self, news: asyncio.Event) -> None:
        """Until rows were committed here, or a moment, in which others may have."""
        until_ms = self._clock.monotonic_ms() + _LOOK_EVERY_MS
        waits = (
            asyncio.ensure_future(news.wait()),
            asyncio.ensure_future(self._clock.sleep_until_ms(until_ms)),
        )
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class FedStore:
    """A store that tells the feed of what it has committed."""

    def __init__(self, store: Store, feed_: Feed) -> None:
        self._store = store
        self._feed = feed_

    async def append(self, batch: list[Append]) -> list[Verdict]:
        """Write the rows and tell."""
        verdicts = await self._store.append(batch)
        self._feed.news()
        return verdicts


def _too_old(position: int, archived: int) -> CursorTooOld:
    return CursorTooOld(
        f"rows after cursor {position} were archived, the last of them {archived}; begin with an "
        "empty cursor to get everything that is still kept"
    )


def _message(row: Any, events: list[events_pb2.Event]) -> bytes:
    return events_pb2.SubscribeResponse(
        table_id=row.table_id,
        seq=row.seq,
        at_ms=row.at_ms,
        events=events,
        cursor=str(row.position),
    ).SerializeToString()


def _spectators(row: Any, seals: Seals) -> list[events_pb2.Event]:
    events = decode_events(row.payload)
    if any(isinstance(event, RoundDealt) for event in events):
        # Spectators see the nonces of a deal, which are encrypted; of all else see no more.
        stored = StoredRow(row.seq, row.at_ms, row.payload, None)
        [opened] = seals.opened(row.table_id, [stored]).rows
        events = decode_events(opened.payload)
    return [event_message(event, SPECTATOR) for event in events]
