"""A Play stream of one player, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.rpc import error_details_pb2

from okey.api.engine.v1 import engine_pb2
from okey_runtime.service_token import fixed_token
from tests.fixtures.issuer import TEN_MINUTES_MS
from tests.integration.engine.platform import Platform

PLAY = "/okey.api.engine.v1.TableService/Play"


class Stream:
    """A Play stream of one player, in bytes, so that it can say anything."""

    def __init__(self, call: Any, table_id: str) -> None:
        self.call = call
        self.table_id = table_id
        self.results: list[engine_pb2.CommandResult] = []
        self.seqs: list[int] = []
        self.end: engine_pb2.StreamEnd | None = None

    async def say(self, request: engine_pb2.PlayRequest | bytes) -> None:
        content = request if isinstance(request, bytes) else request.SerializeToString()
        await self.call.write(content)

    async def attach(self, after: int | None = None, *, views: bool = False) -> None:
        attach = engine_pb2.Attach(table_id=self.table_id, after_seq=after, with_view=views)
        await self.say(engine_pb2.PlayRequest(attach=attach))

    async def read(self) -> engine_pb2.PlayResponse | None:
        """What comes next; None where the stream is over."""
        answer = await self.call.read()
        if answer is grpc.aio.EOF:
            return None
        assert isinstance(answer, engine_pb2.PlayResponse)
        match answer.WhichOneof("message"):
            case "snapshot":
                self.seqs.append(answer.snapshot.seq)
            case "update":
                self.seqs.append(answer.update.seq)
            case "result":
                self.results.append(answer.result)
            case _:
                self.end = answer.end
        return answer

    async def until_answered(self, count: int) -> list[engine_pb2.CommandResult]:
        async with asyncio.timeout(10):
            while len(self.results) < count:
                assert await self.read() is not None, "the stream has ended"
        return self.results

    async def until_seq(self, seq: int) -> None:
        async with asyncio.timeout(10):
            while not self.seqs or self.seqs[-1] < seq:
                assert await self.read() is not None, "the stream has ended"

    async def rest(self) -> None:
        """Everything up to the end of the stream."""
        async with asyncio.timeout(10):
            while await self.read() is not None:
                pass


@asynccontextmanager
async def stream_of(
    world: Platform,
    player: str,
    table_id: str,
    ttl_ms: int = TEN_MINUTES_MS,
    token: str = "",
) -> AsyncIterator[Stream]:
    own = token or world.issuer.token(player, ttl_ms=ttl_ms)
    channel = await world.channel_with(fixed_token(own))
    method: Any = channel.stream_stream(
        PLAY, response_deserializer=engine_pb2.PlayResponse.FromString
    )
    call = method()
    try:
        yield Stream(call, table_id)
    finally:
        call.cancel()


def reason_of(result: engine_pb2.CommandResult) -> str:
    info = error_details_pb2.ErrorInfo()
    unpacked = [detail.Unpack(info) for detail in result.error.details]
    return str(info.reason) if any(unpacked) else ""
