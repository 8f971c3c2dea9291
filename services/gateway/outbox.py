"""What waits to be sent to one connection: bounded, so that a slow reader costs no memory."""

import asyncio
from collections import deque
from typing import Final

from services.gateway import frames
from services.gateway.ending import SLOW_READER, Ending


class Outbox:
    """Frames in order; once it is ended, the end is the last of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._frames: deque[str] = deque()
        self._there_is_more = asyncio.Event()
        self._there_is_room = asyncio.Event()
        self._there_is_room.set()
        self.over: Final = asyncio.Event()
        """Whether nothing is taken any more."""
        self.ending: Ending | None = None
        """Why it was ended; None where the client has just gone."""

    def put(self, frame: str) -> None:
        """Send it in its turn; a reader that is too far behind is cut instead."""
        if self.over.is_set():
            return
        if len(self._frames) >= self._most:
            self._frames.clear()
            self.end(SLOW_READER)
            return
        self._frames.append(frame)
        self._there_is_more.set()
        if len(self._frames) > self._most // 2:
            self._there_is_room.clear()

    async def room(self) -> None:
        """Return when less than half of what may wait does: who asks faster than it reads answers
        waits, and is not cut for it.
        """
        await self._there_is_room.wait()

    def end(self, ending: Ending) -> None:
        """Send what waits, and why it ends; what comes later is dropped."""
        if self.over.is_set():
            return
        self.ending = ending
        self._frames.append(frames.end_of_connection(ending))
        self._close()

    def abandon(self) -> None:
        """Nobody is there to read."""
        self._frames.clear()
        self._close()

    def _close(self) -> None:
        self.over.set()
        self._there_is_more.set()
        self._there_is_room.set()

    async def get(self) -> str | None:
        """The next frame; None after the last."""
        while not self._frames:
            if self.over.is_set():
                return None
            self._there_is_more.clear()
            await self._there_is_more.wait()
        frame = self._frames.popleft()
        if len(self._frames) <= self._most // 2:
            self._there_is_room.set()
        return frame
