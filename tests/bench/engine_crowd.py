"""Many who listen: spectators of a table of the engine, or a room of the bare server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any, Final

import grpc

from okey.api.engine.v1 import engine_pb2
from tests.bench import engine_bare
from tests.bench.engine_load import (
    OPENED_AT_ONCE,
    Call,
    bearer,
    bidi,
    channels,
    content_of,
    in_turns,
)
from tests.bench.engine_stand import Stand

WATCH: Final = "/okey.api.engine.v1.TableService/WatchTable"


class Received:
    """How many updates have come."""

    def __init__(self) -> None:
        self._count = 0
        self._awaited = 0
        self._enough: asyncio.Future[None] | None = None

    def add(self) -> None:
        """One more."""
        self._count += 1
        if self._enough is not None and self._count >= self._awaited:
            self._enough.set_result(None)
            self._enough = None

    async def until(self, count: int) -> None:
        """Return once there are so many; one waits at a time."""
        if self._count < count:
            self._awaited = count
            self._enough = asyncio.get_running_loop().create_future()
            await self._enough


class Watching:
    """Spectators of one table."""

    def __init__(self) -> None:
        self._received: list[Received] = []
        self._reading: list[asyncio.Task[None]] = []

    async def add(self, channel: grpc.aio.Channel, token: str, table_id: str) -> None:
        """One more, once it has its snapshot."""
        request = engine_pb2.WatchTableRequest(table_id=table_id).SerializeToString()
        watch: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(WATCH)
        call = watch(request, metadata=bearer(token))
        await call.read()
        received = Received()
        self._received.append(received)
        self._reading.append(asyncio.create_task(self._read(call, received)))

    async def until(self, count: int) -> None:
        """Return once everybody has so many updates."""
        await asyncio.gather(*(received.until(count) for received in self._received))

    async def stop(self) -> None:
        """Everybody goes."""
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)

    async def _read(self, call: Any, received: Received) -> None:
        while await call.read() is not grpc.aio.EOF:
            received.add()


@asynccontextmanager
async def watching(
    stand: Stand, address: str, table_id: str, count: int
) -> AsyncIterator[Watching]:
    """So many spectators of the table."""
    token = stand.token("zoe")
    async with channels(address) as connections:
        turns = cycle(connections)
        watchers = Watching()
        adding = [watchers.add(next(turns), token, table_id) for _ in range(count)]
        await in_turns(adding, OPENED_AT_ONCE)
        try:
            yield watchers
        finally:
            await watchers.stop()


class BareStream:
    """One stream of the bare server."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._result: asyncio.Future[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._received = Received()

    async def open(self, room: str, result: int, update: int) -> None:
        """Enter the room."""
        entry = {"room": room, "result": result, "update": update}
        await self._call.write(json.dumps(entry).encode())
        await self._call.read()
        self._reading = asyncio.create_task(self._read())

    async def until(self, count: int) -> None:
        """Return once so many updates have come."""
        await self._received.until(count)

    async def ask(self, content: bytes) -> None:
        """Send something and wait for the result."""
        self._result = asyncio.get_running_loop().create_future()
        await self._call.write(content)
        await self._result

    async def close(self) -> None:
        """Say no more and wait for the end."""
        await self._call.done_writing()
        if self._reading is not None:
            await self._reading

    async def _read(self) -> None:
        while (content := await self._call.read()) is not grpc.aio.EOF:
            if content_of(content)[:1] == b"u":
                self._received.add()
            elif self._result is not None:
                self._result.set_result(None)


@asynccontextmanager
async def in_rooms(
    address: str, rooms: int, size: int, result: int, update: int
) -> AsyncIterator[list[list[BareStream]]]:
    """Rooms of so many streams at the bare server."""
    async with channels(address) as connections:
        turns = cycle(connections)
        called = [
            [BareStream(bidi(next(turns), engine_bare.METHOD, ())) for _ in range(size)]
            for _ in range(rooms)
        ]
        await in_turns(
            [
                stream.open(str(number), result, update)
                for number, room in enumerate(called)
                for stream in room
            ],
            OPENED_AT_ONCE,
        )
        try:
            yield called
        finally:
            await asyncio.gather(*(stream.close() for room in called for stream in room))
