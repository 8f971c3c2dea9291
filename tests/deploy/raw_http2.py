"""HTTP/2 frame by frame, for callers who do not behave."""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE: Final = 4
_HEAD: Final = struct.Struct(">BHBBI")


@dataclass(frozen=True)
class Frame:
    """One frame that has come."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame to be sent."""
    size = len(payload)
    return _HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """What a client opens with."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *each) for each in values.items()))


def call(path: str, *more: tuple[str, str]) -> bytes:
    """A header block of a gRPC call, each header by its letters."""
    headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "edge"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *more,
    ]
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in headers)


def message(content: bytes) -> bytes:
    """A message as the body has it."""
    return struct.pack(">BI", 0, len(content)) + content


def _text(text: str) -> bytes:
    size, coded = len(text), b""
    if size < 127:
        return bytes([size]) + text.encode()
    size -= 127
    while size >= 128:
        coded += bytes([size % 128 + 128])
        size //= 128
    return b"\x7f" + coded + bytes([size]) + text.encode()


@dataclass(frozen=True)
class Connection:
    """A connection on which nothing happens but what is asked for."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *frames: bytes) -> None:
        """Send them at once; that the other side has hung up shows when reading."""
        self.writer.writelines(frames)
        try:
            await self.writer.drain()
        except ConnectionError:
            return

    async def frames(self) -> AsyncIterator[Frame]:
        """What comes, until the other side hangs up."""
        while True:
            try:
                high, low, kind, flags, stream = _HEAD.unpack(await self.reader.readexactly(9))
                payload = await self.reader.readexactly(high << 16 | low)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            yield Frame(kind, flags, stream, payload)

    async def rest(self) -> list[Frame]:
        """All that comes until the other side hangs up."""
        return [each async for each in self.frames()]

    async def answers(self, kinds: Iterable[int]) -> Frame:
        """The first frame of one of these kinds; fails where the other side hangs up first."""
        wanted = set(kinds)
        async for each in self.frames():
            if each.kind in wanted:
                return each
        raise AssertionError(f"hung up before a frame of {sorted(wanted)}")


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Connection]:
    """A bare TCP connection, until the block ends."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


@asynccontextmanager
async def speaking(address: str, values: dict[int, int] | None = None) -> AsyncIterator[Connection]:
    """A connection that has begun to speak HTTP/2."""
    async with connected(address) as found:
        await found.send(PREFACE, settings(values or {}))
        yield found
