"""Watching tickets: those of all open streams are looked at together, so that ten thousand watchers
cost a replica some fifty calls to Redis a round.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from okey.errors import OkeyError, Unavailable
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from okey_runtime.identity import Identity
from okey_runtime.revocation import Revocations
from services.lobby.metrics import TICKET_WATCHERS
from services.lobby.ticket import QuickMatchUnavailable, Ticket, TicketNotFound
from services.lobby.ticket_store import Shown, TicketStore, ticket_of
from services.lobby.windows import RatingWindow

WATCH_MS: Final = 500
"""How often watched tickets are looked at."""
COUNTS_MS: Final = 2_000
"""How often a watcher is told that only others have come or gone, at most."""
_AT_ONCE: Final = 200


class LobbyStopping(Unavailable):
    """This replica stops; another one goes on with the stream."""

    reason = "LOBBY_STOPPING"


class _Watcher:
    """One open stream: what it was shown last, and what it is to be told next."""

    def __init__(self, caller: Identity) -> None:
        self.player = caller.subject
        self.caller = caller
        self.shown: Shown | None = None
        self.since_ms = 0
        self.reach = 0
        self.shown_ms = 0
        self._news: Ticket | OkeyError | None = None
        self._is_told = asyncio.Event()

    def tell(self, news: Ticket | OkeyError) -> None:
        """Newer news take the place of older ones."""
        self._news = news
        self._is_told.set()

    async def next(self) -> Ticket:
        await self._is_told.wait()
        self._is_told.clear()
        news, self._news = self._news, None
        assert news is not None
        if isinstance(news, OkeyError):
            raise news
        return news


class TicketWatch:
    """Follows the tickets of players who look on, and keeps those tickets alive by it."""

    def __init__(
        self,
        tickets: TicketStore,
        window: RatingWindow,
        clock: Clock,
        revocations: Revocations,
    ) -> None:
        self._revocations = revocations
        self._tickets = tickets
        self._window = window
        self._clock = clock
        self._watchers: set[_Watcher] = set()
        self._is_stopping = False

    async def run(self) -> None:
        """Look at every watched ticket again and again."""
        await repeat("ticket-watch", self.look_at_all, WATCH_MS, self._clock)

    def stop(self) -> None:
        """End every stream, so that it goes on at another replica."""
        self._is_stopping = True
        for watcher in self._watchers:
            watcher.tell(_stopping())

    async def follow(self, caller: Identity) -> AsyncIterator[Ticket]:
        """The player's newest ticket now and at each change, until it is over.

        Raises:
            TicketNotFound: there is none, or it is forgotten.
            QuickMatchUnavailable: Redis is away.
            LobbyStopping: this replica stops.
            TokenExpired, TokenRevoked, SessionReplaced: the caller's token is over.
        """
        watcher = _Watcher(caller)
        self._tell(watcher, (await self._tickets.touch_unread([watcher.player]))[0])
        self._watchers.add(watcher)
        TICKET_WATCHERS.inc()
        try:
            while True:
                ticket = await watcher.next()
                yield ticket
                if not ticket.state.is_live:
                    return
        finally:
            self._watchers.discard(watcher)
            TICKET_WATCHERS.dec()

    async def look_at_all(self) -> None:
        """One round over all that is watched.

        Raises:
            QuickMatchUnavailable: Redis is away; every watcher is told.
        """
        watchers = list(self._watchers)
        for first in range(0, len(watchers), _AT_ONCE):
            some = watchers[first : first + _AT_ONCE]
            try:
                found = await self._tickets.touch_unread([each.player for each in some])
            except QuickMatchUnavailable as away:
                for watcher in watchers:
                    watcher.tell(away)
                raise
            for watcher, shown in zip(some, found, strict=True):
                self._tell(watcher, shown)

    def _tell(self, watcher: _Watcher, shown: Shown) -> None:
        """Tell what has changed; most of the time that is nothing, and nothing is read."""
        now_ms = self._clock.now_ms()
        over = self._revocations.ended(watcher.caller)
        is_due = self._is_stopping or over is not None
        if watcher.shown is not None and not is_due and not self._is_news(watcher, shown, now_ms):
            return
        ticket = ticket_of(watcher.player, shown)
        if ticket is None:
            watcher.tell(
                TicketNotFound(
                    f"{watcher.player} has no ticket, or none any more: hand one in with "
                    "EnqueueTicket"
                )
            )
            return
        if not ticket.state.is_live:
            watcher.tell(ticket)
        elif self._is_stopping:
            watcher.tell(_stopping())
        elif over is not None:
            watcher.tell(over)
        else:
            watcher.shown, watcher.shown_ms = shown, now_ms
            watcher.since_ms = ticket.since_ms
            watcher.reach = self._window.reach_milli(now_ms - ticket.since_ms)
            watcher.tell(ticket)

    def _is_news(self, watcher: _Watcher, shown: Shown, now_ms: int) -> bool:
        """Whether the ticket has changed, its window has widened, or others came or went a while
        after the watcher was told last.
        """
        assert watcher.shown is not None
        if shown[2] != watcher.shown[2]:
            return True
        if self._window.reach_milli(now_ms - watcher.since_ms) != watcher.reach:
            return True
        return shown != watcher.shown and now_ms >= watcher.shown_ms + COUNTS_MS


def _stopping() -> LobbyStopping:
    return LobbyStopping("this replica stops: watch again")
