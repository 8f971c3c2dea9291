"""Players and watchers that press an engine, or a bare server, over streams."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from typing import Any, Final, Protocol

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from tests.bench.engine_seed import Seeded
from tests.bench.engine_stand import Stand

PLAY: Final = "/okey.api.engine.v1.TableService/Play"
_CHANNELS: Final = 8
OPENED_AT_ONCE: Final = 64

Call = grpc.aio.StreamStreamCall[bytes, bytes]


@dataclass(slots=True)
class Traffic:
    """What went over the streams so far, and how long each command waited for its result."""

    requests: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)

    def mean_sizes(self) -> tuple[int, int, int]:
        """Bytes of a request, of a result and of an update, on the average."""
        request, result, update = (
            round(statistics.mean(each)) for each in (self.requests, self.results, self.updates)
        )
        return request, result, update

    def clear(self) -> None:
        """Forget it all."""
        for each in (self.requests, self.results, self.updates, self.latencies_s):
            each.clear()


class PlayStream:
    """One player's Play stream; its reader runs from ``open`` on."""

    def __init__(self, begin: Callable[[], Call], table_id: str, traffic: Traffic) -> None:
        """``begin`` makes the call, at ``open`` and no earlier: one that sends nothing is ended."""
        self._begin = begin
        self._table_id = table_id
        self._traffic = traffic
        self._numbers = count(1)
        self._result: asyncio.Future[engine_pb2.CommandResult] | None = None
        self._drawn: asyncio.Future[int] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Attach, and wait for the snapshot."""
        self._call = self._begin()
        attach = engine_pb2.Attach(table_id=self._table_id)
        await self._call.write(engine_pb2.PlayRequest(attach=attach).SerializeToString())
        first = engine_pb2.PlayResponse.FromString(content_of(await self._call.read()))
        assert first.WhichOneof("message") == "snapshot", f"no snapshot but {first}"
        self._reading = asyncio.create_task(self._read())

    async def draw(self, turn: int) -> int:
        """Draw from the stock; the tile."""
        self._drawn = asyncio.get_running_loop().create_future()
        await self._act(turn, table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock()))
        return await self._drawn

    async def discard(self, turn: int, tile: int) -> None:
        """Discard that tile."""
        discard = table_pb2.Discard(tile=common_pb2.Tile.ValueType(tile))
        await self._act(turn, table_pb2.Action(discard=discard))

    async def close(self) -> None:
        """Say no more and wait for the end."""
        await self._call.done_writing()
        if self._reading is not None:
            await self._reading

    async def _act(self, turn: int, action: table_pb2.Action) -> None:
        act = engine_pb2.ActRequest(
            table_id=self._table_id,
            request_id=f"request-{next(self._numbers)}",
            turn=turn,
            action=action,
        )
        content = engine_pb2.PlayRequest(act=act).SerializeToString()
        self._result = asyncio.get_running_loop().create_future()
        started_s = time.perf_counter()
        await self._call.write(content)
        result = await self._result
        self._traffic.latencies_s.append(time.perf_counter() - started_s)
        self._traffic.requests.append(len(content))
        assert not result.HasField("error"), f"the move was refused: {result.error}"

    async def _read(self) -> None:
        while (message := await self._call.read()) is not grpc.aio.EOF:
            content = content_of(message)
            response = engine_pb2.PlayResponse.FromString(content)
            case = response.WhichOneof("message")
            if case == "update":
                self._traffic.updates.append(len(content))
                self._see(response.update)
            elif case == "result" and self._result is not None:
                self._traffic.results.append(len(content))
                self._result.set_result(response.result)
            else:
                raise AssertionError(f"unexpected {response}")

    def _see(self, update: engine_pb2.TableUpdate) -> None:
        if self._drawn is None or self._drawn.done():
            return
        for event in update.events:
            if event.HasField("tile_drawn") and event.tile_drawn.tile:
                self._drawn.set_result(event.tile_drawn.tile)


class Mover(Protocol):
    """A seat that somebody plays, over whatever way."""

    async def draw(self, turn: int) -> int:
        """Draw from the stock; the tile."""
        ...

    async def discard(self, turn: int, tile: int) -> None:
        """Discard that tile."""
        ...


@dataclass
class PlayedTable:
    """A table with somebody at each seat."""

    streams: Sequence[Mover]
    to_move: int
    turn: int

    async def play(self, turns: int) -> None:
        """So many turns, each a draw and a discard, one after another."""
        for _ in range(turns):
            mover, turn = self.streams[self.to_move], self.turn
            await mover.discard(turn, await mover.draw(turn))
            self.to_move, self.turn = (self.to_move + 1) % len(self.streams), turn + 1

    async def play_slowly(self, turns: int, first_s: float, every_s: float) -> None:
        """So many turns, one each ``every_s``, the discard half-way; the first at ``first_s`` of
        the loop's clock.
        """
        loop = asyncio.get_running_loop()
        for number in range(turns):
            due_s = first_s + number * every_s
            mover, turn = self.streams[self.to_move], self.turn
            await asyncio.sleep(due_s - loop.time())
            tile = await mover.draw(turn)
            await asyncio.sleep(due_s + every_s / 2 - loop.time())
            await mover.discard(turn, tile)
            self.to_move, self.turn = (self.to_move + 1) % len(self.streams), turn + 1


@asynccontextmanager
async def channels(address: str) -> AsyncIterator[list[grpc.aio.Channel]]:
    """A few connections, none shared."""
    async with AsyncExitStack() as stack:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        yield [
            await stack.enter_async_context(grpc.aio.insecure_channel(address, options=options))
            for _ in range(_CHANNELS)
        ]


@asynccontextmanager
async def seated(
    stand: Stand, address: str, tables: Sequence[Seeded], traffic: Traffic
) -> AsyncIterator[list[PlayedTable]]:
    """Everybody of these tables on a stream of their own."""
    async with channels(address) as connections:
        turns = cycle(connections)
        streams = [
            PlayStream(
                partial(bidi, next(turns), PLAY, bearer(stand.token(player))),
                table.table_id,
                traffic,
            )
            for table in tables
            for player in table.players
        ]
        await in_turns([stream.open() for stream in streams], OPENED_AT_ONCE)
        played = played_tables(tables, streams)
        try:
            yield played
        finally:
            await asyncio.gather(*(stream.close() for stream in streams))


def played_tables(tables: Sequence[Seeded], movers: Sequence[Mover]) -> list[PlayedTable]:
    """The tables with their movers, who come table by table and seat by seat."""
    given = iter(movers)
    return [
        PlayedTable([next(given) for _ in table.players], table.to_move, table.turn)
        for table in tables
    ]


async def in_turns(work: Sequence[Any], at_once: int) -> None:
    """Await all, so many at a time."""
    waiting = iter(work)

    async def take() -> None:
        for each in waiting:
            await each

    await asyncio.gather(*(take() for _ in range(at_once)))


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata of who calls with that token."""
    return (("authorization", f"Bearer {token}"),)


def bidi(channel: grpc.aio.Channel, method: str, metadata: tuple[tuple[str, str], ...]) -> Call:
    """A stream of bytes both ways."""
    call: Call = channel.stream_stream(method)(metadata=metadata)
    return call


def content_of(message: object) -> bytes:
    """A message that was read, where the stream must go on."""
    assert isinstance(message, bytes), f"the stream ended instead: {message}"
    return message
