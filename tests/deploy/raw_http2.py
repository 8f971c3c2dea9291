"""A connection that speaks HTTP/2 frame by frame, for callers who do not behave."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.http2 import hello


@dataclass(frozen=True)
class Frame:
    """One frame that has come."""

    kind: int
    flags: int
    stream: int
    payload: bytes


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
                head = await self.reader.readexactly(9)
                payload = await self.reader.readexactly(int.from_bytes(head[:3]))
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            yield Frame(head[3], head[4], int.from_bytes(head[5:]), payload)

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
async def speaking(
    address: str, values: Mapping[int, int] | None = None
) -> AsyncIterator[Connection]:
    """A connection that has begun to speak HTTP/2."""
    async with connected(address) as found:
        await found.send(hello(values))
        yield found
