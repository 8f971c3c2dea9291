"""Watching tickets: those of all open streams are looked at together, so that ten thousand watchers
cost a replica some fifty calls to Redis a round.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from okey.errors import OkeyError, Unavailable
from okey_runtime.auth import TokenExpired
from okey_runtime.background import repeat
from okey_runtime.clock import Clock
from services.lobby.ticket import QuickMatchUnavailable, Ticket, TicketNotFound
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow

WATCH_MS: Final = 300
"""How often watched tickets are looked at."""
_AT_ONCE: Final = 200


class LobbyStopping(Unavailable):
    """This replica stops; another one goes on with the stream."""

    reason = "LOBBY_STOPPING"


class _Watcher:
    """One open stream: what it was shown last, and what it is to be told next."""

    def __init__(self, player: str, expires_ms: int) -> None:
        self.player = player
        self.expires_ms = expires_ms
        self.shown: tuple[Ticket, int] | None = None
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

    def __init__(self, tickets: TicketStore, window: RatingWindow, clock: Clock) -> None:
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

    async def follow(self, player: str, expires_ms: int) -> AsyncIterator[Ticket]:
        """The player's newest ticket now and at each change, until it is over.

        Raises:
            TicketNotFound: there is none, or it is forgotten.
            QuickMatchUnavailable: Redis is away.
            LobbyStopping: this replica stops.
            TokenExpired: the wall time ``expires_ms`` has come.
        """
        watcher = _Watcher(player, expires_ms)
        self._tell(watcher, await self._tickets.touch(player))
        self._watchers.add(watcher)
        try:
            while True:
                ticket = await watcher.next()
                yield ticket
                if not ticket.state.is_live:
                    return
        finally:
            self._watchers.discard(watcher)

    async def look_at_all(self) -> None:
        """One round over all that is watched.

        Raises:
            QuickMatchUnavailable: Redis is away; every watcher is told.
        """
        watchers = list(self._watchers)
        for first in range(0, len(watchers), _AT_ONCE):
            some = watchers[first : first + _AT_ONCE]
            try:
                tickets = await self._tickets.touch_all([each.player for each in some])
            except QuickMatchUnavailable as away:
                for watcher in watchers:
                    watcher.tell(away)
                raise
            for watcher, ticket in zip(some, tickets, strict=True):
                self._tell(watcher, ticket)

    def _tell(self, watcher: _Watcher, ticket: Ticket | None) -> None:
        now_ms = self._clock.now_ms()
        if ticket is None:
            watcher.tell(TicketNotFound(f"{watcher.player} has no ticket any more"))
            return
        seen = (ticket, self._window.reach_milli(now_ms - ticket.since_ms))
        if not ticket.state.is_live:
            watcher.tell(ticket)
        elif self._is_stopping:
            watcher.tell(_stopping())
        elif now_ms >= watcher.expires_ms:
            watcher.tell(TokenExpired("the token has expired: watch again with a new one"))
        elif seen != watcher.shown:
            watcher.shown = seen
            watcher.tell(ticket)


def _stopping() -> LobbyStopping:
    return LobbyStopping("this replica stops: watch again")
