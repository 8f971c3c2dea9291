"""EventService: the events of all tables for other teams, as a spectator may see them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc

from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.clock import Clock
from okey_runtime.errors import Unauthenticated
from okey_runtime.identity import Role, current_identity
from okey_runtime.interceptors import ends_itself, writes_itself
from okey_runtime.revocation import Revocations, TokenExpired
from okey_runtime.unread import Cut
from services.engine.feed import Feed, Page
from services.engine.shedding import Shedding

SERVICE: Final = "okey.api.events.v1.EventService"

ACCESS: Final = AccessTable.of(
    SERVICE, {"Subscribe": {Role.INTEGRATOR, Role.OPERATOR}}, {"Subscribe": 20}
)

UNREAD_FOR_S: Final = 60.0
_LATELY_MS: Final = 10_000
"""Rows younger than this are no replay."""

End = events_pb2.SubscribeEndReason
Context = grpc.aio.ServicerContext[Any, Any]
Write = Callable[[bytes], Awaitable[None]]


class Pace:
    """Lets ``per_s`` rows go in a second, page by page, in the order in which callers ask."""

    def __init__(self, per_s: int, clock: Clock) -> None:
        self._per_s = per_s
        self._clock = clock
        self._next_ms = 0
        # A lock serves in order; one that gives up while it waits costs the others nothing.
        self._turns = asyncio.Lock()

    async def turn(self, rows: int) -> None:
        """Return once this many rows may leave."""
        async with self._turns:
            await self._clock.sleep_until_ms(self._next_ms)
            now_ms = self._clock.monotonic_ms()
            self._next_ms = now_ms + rows * 1_000 // self._per_s


class EventServicer(events_pb2_grpc.EventServiceServicer):
    """Follows the feed for each caller; ``stop`` ends every stream.

    Rows that happened lately leave at once. Older ones are replayed at the pace of ``replay``,
    which all callers share, so that catching up does not slow the tables down.
    """

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        shedding: Shedding,
        replay: Pace,
        revocations: Revocations,
    ) -> None:
        self._shedding = shedding
        self._replay = replay
        self._feed = feed
        self._clock = clock
        self._revocations = revocations
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End every stream, with its cursor."""
        self._stopping.set()

    @writes_itself
    @ends_itself
    async def Subscribe(self, request: events_pb2.SubscribeRequest, context: Context) -> None:
        """Every row after the cursor. Who takes no page for a minute is cut."""
        self._shedding.refuse_if_busy()
        cut = Cut()
        with self._shedding.stream(), cut.telling():
            end = await self._write_rows(request.cursor, context.write, cut)
            await context.write(end.SerializeToString())

    async def _write_rows(
        self, cursor: str, write: Write, cut: Cut
    ) -> events_pb2.SubscribeResponse:
        """Write the rows that come; returns the stream's last message."""
        position, archived = await self._feed.start(cursor)
        loop = asyncio.get_running_loop()
        over: asyncio.Future[Unauthenticated] = loop.create_future()
        with self._revocations.until_end(current_identity(), over.set_result):
            while True:
                page = await self._next(position, archived, over)
                if not isinstance(page, Page):
                    return events_pb2.SubscribeResponse(cursor=str(position), end=page)
                unread = loop.call_later(UNREAD_FOR_S, cut.now)
                try:
                    for row in page.rows:
                        await write(row)
                finally:
                    unread.cancel()
                position = page.last

    async def _next(
        self, position: int, archived: int, over: "asyncio.Future[Unauthenticated]"
    ) -> Page | End.ValueType:
        """The next page, or why there is none."""
        page = asyncio.ensure_future(self._page(position, archived))
        stopping = asyncio.ensure_future(self._stopping.wait())
        ends: list[asyncio.Future[Any]] = [page, stopping, over]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                return End.SUBSCRIBE_END_REASON_SHUTTING_DOWN
            if over.done():
                if isinstance(over.result(), TokenExpired):
                    return End.SUBSCRIBE_END_REASON_TOKEN_EXPIRED
                return End.SUBSCRIBE_END_REASON_TOKEN_REVOKED
            return page.result()
        finally:
            for each in (page, stopping):
                each.cancel()

    async def _page(self, position: int, archived: int) -> Page:
        """The next page, once it may go."""
        page = await self._feed.after(position, archived)
        if self._clock.now_ms() - page.newest_ms > _LATELY_MS:
            await self._replay.turn(len(page.rows))
        return page
