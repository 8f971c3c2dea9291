"""A service's stand-in that takes every call of every name, and remembers what has reached it."""

from asyncio import Condition, Event
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import grpc
from grpc_health.v1 import health_pb2_grpc

from okey_runtime.readiness import Readiness
from tests.fixtures.valkey import free_port

REACHED: Final = grpc.StatusCode.DATA_LOSS
"""How it ends each call: with nothing that Envoy says by itself or tries again."""
FLOOD: Final = "/okey.api.engine.v1.TableService/WatchTable"
"""This one it answers with more than anybody reads."""
HANGS: Final = "/okey.api.engine.v1.TableService/Forfeit"
"""This one it never answers."""
_PAGE: Final = bytes(16 << 10)
_PAGES: Final = 256


class Backend(grpc.GenericRpcHandler):
    """Ready, on a free port of this machine, while ``serving`` lasts."""

    def __init__(self) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.reached: list[str] = []
        self.metadata: dict[str, str] = {}
        self.bodies: list[bytes] = []
        self._floods = 0
        self._flooded = Condition()

    async def flooding(self, streams: int) -> None:
        """Return once so many streams have begun to get more than is read."""
        async with self._flooded:
            await self._flooded.wait_for(lambda: self._floods >= streams)

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """Whatever it is called."""
        self.reached.append(details.method)
        self.metadata = {name: str(value) for name, value in details.invocation_metadata}
        answers = {FLOOD: self._flood, HANGS: self._hang}
        return grpc.stream_stream_rpc_method_handler(answers.get(details.method, self._end))

    async def _end(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        yield b""
        async for each in requests:
            self.bodies.append(each)
        await context.abort(REACHED, "reached")

    async def _flood(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        self._floods += 1
        async with self._flooded:
            self._flooded.notify_all()
        for _ in range(_PAGES):
            yield _PAGE

    async def _hang(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        async for each in requests:
            self.bodies.append(each)
        await Event().wait()
        yield b""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Backend"]:
        """While the block lasts."""
        readiness = Readiness(())
        server = grpc.aio.server()
        health_pb2_grpc.add_HealthServicer_to_server(readiness.servicer, server)
        server.add_generic_rpc_handlers((self,))
        server.add_insecure_port(self.address)
        await server.start()
        await readiness.started()
        try:
            yield self
        finally:
            await server.stop(None)
