"""A connection of an attack that speaks HTTP/2 by hand."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from tests.attack.raid import Line, Raid
from tests.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW,
    PING,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    hello,
)

_DEFAULT_WINDOW: Final = 65_535
_LARGEST: Final = 16_384


class Http2:
    """A connection that keeps to the peer's windows, and reads what comes while ``hear`` runs."""

    def __init__(self, raid: Raid, line: Line) -> None:
        self._raid = raid
        self.line: Final = line
        self._window = _DEFAULT_WINDOW
        self._initial = _DEFAULT_WINDOW
        self._windows: dict[int, int] = {}
        self._wider = asyncio.Event()
        self._next = 1

    @classmethod
    async def open(cls, raid: Raid, address: str) -> "Http2":
        """Connect and say the first words."""
        line = await raid.connect(address)
        await line.send(hello())
        return cls(raid, line)

    def stream(self) -> int:
        """The next stream's number."""
        number, self._next = self._next, self._next + 2
        self._windows[number] = 0
        return number

    async def headers(self, block: bytes, flags: int = END_HEADERS) -> int:
        """Open a stream; its number."""
        number = self.stream()
        await self.line.send(frame(HEADERS, flags, number, block))
        self._raid.spent.requests += 1
        return number

    async def data(self, stream: int, content: bytes, flags: int = 0) -> None:
        """Send that much of a body as the windows allow, all of it if need be over time."""
        at = 0
        while at < len(content):
            room = min(self._window, self._initial + self._windows.get(stream, 0), _LARGEST)
            if room <= 0:
                if self._raid.is_over or stream not in self._windows:
                    return
                self._wider.clear()
                await asyncio.wait([asyncio.ensure_future(self._wider.wait())], timeout=0.2)
                continue
            piece = content[at : at + room]
            at += len(piece)
            self._window -= len(piece)
            self._windows[stream] = self._windows.get(stream, 0) - len(piece)
            await self.line.send(frame(DATA, flags if at >= len(content) else 0, stream, piece))

    async def call(self, block: bytes, body: bytes) -> None:
        """A whole call."""
        await self.data(await self.headers(block), body, END_STREAM)

    async def hear(self) -> None:
        """Read on until the peer hangs up: answer SETTINGS and PING, count answers."""
        reader = self.line.reader
        while True:
            try:
                head = await reader.readexactly(9)
                content = await reader.readexactly(int.from_bytes(head[:3]))
            except asyncio.IncompleteReadError:
                self._raid.spent.answers["hung up on"] += 1
                return
            await self._take(head[3], head[4], int.from_bytes(head[5:9]), content)

    async def _take(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        answers = self._raid.spent.answers
        match kind:
            case 4 if not flags & ACK:
                for at in range(0, len(content), 6):
                    number, value = struct.unpack_from(">HI", content, at)
                    if number == INITIAL_WINDOW:
                        self._initial = value
                self._wider.set()
                await self.line.send(frame(SETTINGS, ACK, 0))
            case 6 if not flags & ACK:
                await self.line.send(frame(PING, ACK, 0, content))
            case 8:
                self._widen(stream, int.from_bytes(content))
            case 0 if content:
                answers["bytes of answers"] += len(content)
                more = struct.pack(">I", len(content))
                await self.line.send(frame(WINDOW_UPDATE, 0, 0, more))
                if not flags & END_STREAM:
                    await self.line.send(frame(WINDOW_UPDATE, 0, stream, more))
            case 1 if flags & END_STREAM:
                answers["calls answered"] += 1
                self._windows.pop(stream, None)
            case 3:
                answers["streams reset"] += 1
                self._windows.pop(stream, None)
            case 7:
                answers["GOAWAY"] += 1

    def _widen(self, stream: int, more: int) -> None:
        if stream == 0:
            self._window += more
        elif stream in self._windows:
            self._windows[stream] += more
        self._wider.set()


Act = Callable[[Raid, Http2, str], Awaitable[None]]
"""What to do on a connection, with the path of a call that is served there."""


async def keep_on(raid: Raid, address: str, path: str, act: Act) -> None:
    """Do it on a connection, which is opened again whenever the victim ends it."""
    while not raid.is_over:
        peer = await Http2.open(raid, address)
        hearing = asyncio.create_task(peer.hear())
        acting = asyncio.ensure_future(act(raid, peer, path))
        try:
            await asyncio.wait({hearing, acting}, return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                acting.result()
                await asyncio.wait({hearing}, timeout=raid.left_s)
        except ConnectionError:
            raid.spent.answers["broken off"] += 1
        finally:
            acting.cancel()
            hearing.cancel()
            await asyncio.gather(acting, hearing, return_exceptions=True)
            peer.line.abort()
        await asyncio.sleep(0.05)
