"""Every open connection: how many of players there may be, and how all are sent away.

Those whose player is not known yet are bounded at the port (``places``), and take no player's.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from okey.errors import Exhausted
from services.gateway import ending
from services.gateway.metrics import CONNECTIONS
from services.gateway.outbox import Outbox

_RETRY_AFTER_MS: Final = 5_000


class ConnectionsExhausted(Exhausted):
    """The player, or the gateway, has as many WebSocket connections as it may."""

    reason = "CONNECTIONS_EXHAUSTED"
    retry_after_ms = _RETRY_AFTER_MS


class Sessions:
    """The connections of one process; ``chance`` gives the jitter, a number from 0 to 1."""

    def __init__(
        self,
        most: int,
        most_per_player: int,
        return_within_ms: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._most = most
        self._most_per_player = most_per_player
        self._return_within_ms = return_within_ms
        self._chance = chance
        self._open: set[Outbox] = set()
        self._players: Counter[str] = Counter()
        self._owned = 0
        self._is_stopping = False
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def entered(self, outbox: Outbox) -> Iterator[None]:
        """A connection is there for as long as the block runs, to be sent away if need be."""
        self._open.add(outbox)
        self._is_empty.clear()
        CONNECTIONS.inc()
        if self._is_stopping:
            self._send_away(outbox)
        try:
            yield
        finally:
            CONNECTIONS.dec()
            self._open.discard(outbox)
            if not self._open:
                self._is_empty.set()

    @contextmanager
    def owned_by(self, player: str) -> Iterator[None]:
        """The connection is the player's for as long as the block runs.

        Raises:
            ConnectionsExhausted: the player, or the process, has as many as it may.
        """
        if self._owned >= self._most:
            raise ConnectionsExhausted(f"this gateway has {self._most} connections of players")
        if self._players[player] >= self._most_per_player:
            raise ConnectionsExhausted(f"a player may have {self._most_per_player} connections")
        self._players[player] += 1
        self._owned += 1
        try:
            yield
        finally:
            self._owned -= 1
            self._players[player] -= 1
            if not self._players[player]:
                del self._players[player]

    async def drain(self) -> None:
        """Send everybody away, to come back to another gateway at moments of their own; return when
        they have gone.
        """
        self._is_stopping = True
        for outbox in tuple(self._open):
            self._send_away(outbox)
        await self._is_empty.wait()

    def _send_away(self, outbox: Outbox) -> None:
        outbox.end(ending.stopping(round(self._return_within_ms * self._chance())))
