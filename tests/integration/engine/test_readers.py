"""Readers over real connections that do not read, or are not there any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from tests.integration.engine.platform import Phase, Platform, Player, platform, refused
from tests.metrics import sample

pytestmark = pytest.mark.long

# So that little is on its way between a client that does not read and the server.
NARROW = (("grpc.http2.lookahead_bytes", 1_024), ("grpc.http2.bdp_probe", 0))
# A ping every 20 s, 10 s for its answer.
NOTICED_WITHIN_S = 45.0


def watchers() -> float:
    return sample("okey_engine_watchers")


def cut() -> float:
    return sample("okey_engine_watchers_cut_total", reason="STREAM_END_REASON_SLOW_READER")


async def left(count: float, within_s: float) -> None:
    """Return once so many streams are open."""
    clock = SystemClock()
    async with asyncio.timeout(within_s):
        while watchers() != count:
            await clock.sleep_until_ms(clock.monotonic_ms() + 100)


async def klasik(world: Platform) -> str:
    table_id = await world.open_table("anna", variant=common_pb2.VARIANT_KLASIK, start_points=20)
    await world.take_seat(table_id, "bert")
    return table_id


async def played(world: Platform, table_id: str) -> None:
    """A whole match, drawn round by round, by two who check that they miss nothing."""
    players = [Player(world, name, table_id) for name in ("anna", "bert")]
    await asyncio.gather(*(player.until_phase(Phase.PHASE_SETTLING) for player in players))


async def test_a_reader_that_does_not_read_is_cut_and_nobody_else_notices(tmp_path: Path) -> None:
    """It has its connection and answers pings, but takes no message: its place is free again, and
    when it reads on it is told, rather than wait for ever.
    """
    async with platform(tmp_path, clock_factor=10) as world:
        table_id = await klasik(world)
        token = world.issuer.metadata("zoe")
        async with grpc.aio.insecure_channel(world.engine_address, options=NARROW) as channel:
            stub = engine_pb2_grpc.TableServiceStub(channel)
            watch = engine_pb2.WatchTableRequest(table_id=table_id, with_view=True)
            stream = stub.WatchTable(watch, metadata=token())
            await stream.read()
            before = cut()
            await played(world, table_id)
            assert cut() == before + 1
            await left(0, within_s=15)
            assert (await refused(read_on(stream))).reason == "STREAM_NOT_READ"


async def read_on(stream: Any) -> None:
    async with asyncio.timeout(10):
        while await stream.read() is not grpc.aio.EOF:
            pass


@asynccontextmanager
async def freezable(address: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to the address that passes nothing on any more while its event is not set."""
    passes = asyncio.Event()
    passes.set()
    host, _, port = address.rpartition(":")

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while content := await reader.read(65_536):
            await passes.wait()
            writer.write(content)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        ways = (carry(reader, far_writer), carry(far_reader, writer))
        await asyncio.gather(*ways, return_exceptions=True)
        for each in (writer, far_writer):
            each.close()

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", passes
    finally:
        passes.set()
        server.close()


async def test_a_reader_that_has_vanished_is_noticed(tmp_path: Path) -> None:
    """Its machine is gone without a word: the pings are not answered, the stream is dropped."""
    async with platform(tmp_path, clock_factor=1) as world:
        table_id = await world.open_table("anna")
        async with freezable(world.engine_address) as (address, passes):
            channel = grpc.aio.insecure_channel(address)
            stub = engine_pb2_grpc.TableServiceStub(channel)
            watch = engine_pb2.WatchTableRequest(table_id=table_id)
            stream = stub.WatchTable(watch, metadata=world.issuer.metadata("zoe")())
            await stream.read()
            assert watchers() == 1
            passes.clear()
            await left(0, within_s=NOTICED_WITHIN_S)
            await channel.close()


async def test_a_server_that_has_vanished_is_noticed(tmp_path: Path) -> None:
    """The other way round: our own channels give up, so that a client can go elsewhere."""
    async with platform(tmp_path, clock_factor=1) as world:
        table_id = await world.open_table("anna")
        async with freezable(world.engine_address) as (address, passes):
            async with open_channel(address, token=world.issuer.metadata("zoe")) as channel:
                stub = engine_pb2_grpc.TableServiceStub(channel)
                stream = stub.WatchTable(engine_pb2.WatchTableRequest(table_id=table_id))
                await stream.read()
                passes.clear()
                with pytest.raises(grpc.aio.AioRpcError) as failure:
                    async with asyncio.timeout(NOTICED_WITHIN_S):
                        await stream.read()
            assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
