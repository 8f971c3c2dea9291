"""Who has a table by the database itself, for when the board that was read last may be old."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from okey_runtime.clock import Clock
from services.engine.background import leave_failure
from services.engine.members import Membership
from services.engine.shards import Board, Member, shard_of

_EVERY_MS: Final = 50


class Routes:
    """Reads the board for those who ask, at most every 50 ms, however many do."""

    def __init__(
        self, membership: Membership, clock: Clock, look: Callable[[], Awaitable[None]]
    ) -> None:
        """``look`` follows the board, where it says that something was given to this engine."""
        self._membership = membership
        self._clock = clock
        self.look: Final = look
        self._next: asyncio.Task[Board] | None = None
        self._read_ms = 0

    async def owner_of(self, table_id: str) -> Member | None:
        """The living engine that has the table. Raises ``DatabaseAway`` or ``DatabaseBusy``."""
        return (await self.board()).owner_of(shard_of(table_id))

    async def board(self) -> Board:
        """Who has what, not before this was asked. Raises ``DatabaseAway`` or ``DatabaseBusy``."""
        if self._next is None:
            self._next = asyncio.create_task(self._read())
            self._next.add_done_callback(leave_failure)
        return await asyncio.shield(self._next)

    async def _read(self) -> Board:
        await self._clock.sleep_until_ms(self._read_ms + _EVERY_MS)
        # Whoever asks from now on needs another one.
        self._next = None
        self._read_ms = self._clock.monotonic_ms()
        return await self._membership.board()
