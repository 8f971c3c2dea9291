"""Engines that say on a Play stream what a test tells them to, and a client of two of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
from google.rpc import error_details_pb2, status_pb2

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table.errors import TableIsClosed
from okey_client import OkeyClient, PlayedTable, RetryPolicy
from okey_runtime.access import AccessTable
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.errors import DOMAIN
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from tests.fixtures.issuer import Issuer
from tests.fixtures.partial_service import Methods, serve_methods

SERVICE = "okey.api.engine.v1.TableService"
TABLE = "t" * 26
End = engine_pb2.StreamEndReason


class Line:
    """The engine's end of one stream, after its ``attach``."""

    def __init__(
        self, requests: AsyncIterator[engine_pb2.PlayRequest], sent: asyncio.Queue[object]
    ) -> None:
        self._requests = requests
        self._sent = sent

    async def hear(self) -> engine_pb2.PlayRequest:
        return await anext(self._requests)

    async def show(self, seq: int, *, takes_nonces: bool = False) -> None:
        legal = [table_pb2.LEGAL_ACTION_ADD_NONCE] if takes_nonces else []
        view = table_pb2.TableView(seq=seq, legal_actions=legal, commitment=b"c")
        await self._sent.put(engine_pb2.PlayResponse(snapshot=view))

    async def row(self, seq: int) -> None:
        view = table_pb2.TableView(seq=seq)
        update = engine_pb2.TableUpdate(seq=seq, view=view)
        await self._sent.put(engine_pb2.PlayResponse(update=update))

    async def answer(self, request_id: str, seq: int) -> None:
        result = engine_pb2.CommandResult(request_id=request_id, seq=seq)
        await self._sent.put(engine_pb2.PlayResponse(result=result))

    async def refuse(self, request_id: str, code: grpc.StatusCode, reason: str) -> None:
        error = status_pb2.Status(code=code.value[0], message="as the test says")
        error.details.add().Pack(
            error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata={"a": "b"})
        )
        result = engine_pb2.CommandResult(request_id=request_id, error=error)
        await self._sent.put(engine_pb2.PlayResponse(result=result))

    async def end(self, reason: End.ValueType, address: str = "") -> None:
        end = engine_pb2.StreamEnd(reason=reason, address=address)
        await self._sent.put(engine_pb2.PlayResponse(end=end))


Script = Callable[[Line], Awaitable[None]]


class ScriptedEngine:
    """Each Play stream plays the next script; a stream ends with its script."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.cursors: list[int | None] = []
        self.left: list[str] = []

    async def leave_seat(
        self, request: engine_pb2.LeaveSeatRequest, context: object
    ) -> engine_pb2.LeaveSeatResponse:
        """Asked by a call of its own."""
        self.left.append(request.request_id)
        return engine_pb2.LeaveSeatResponse(seq=9)

    async def forfeit(
        self, request: engine_pb2.ForfeitRequest, context: object
    ) -> engine_pb2.ForfeitResponse:
        """As at a table that is closed."""
        raise TableIsClosed(f"table {request.table_id} is closed")

    async def play(
        self, requests: AsyncIterator[engine_pb2.PlayRequest], context: object
    ) -> AsyncIterator[object]:
        attach = (await anext(requests)).attach
        assert (attach.table_id, attach.with_view) == (TABLE, True)
        self.cursors.append(attach.after_seq if attach.HasField("after_seq") else None)
        sent: asyncio.Queue[object] = asyncio.Queue()
        playing = asyncio.ensure_future(self.scripts.pop(0)(Line(requests, sent)))
        playing.add_done_callback(lambda _: sent.put_nowait(None))
        while (response := await sent.get()) is not None:
            yield response
        await playing


class ScriptedApp:
    """A scripted engine as a service."""

    services = (SERVICE,)
    access = AccessTable.of(
        SERVICE, {"Play": {Role.PLAYER}, "Forfeit": {Role.PLAYER}, "LeaveSeat": {Role.PLAYER}}
    )

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.engine = ScriptedEngine()

    async def start(self, host: ServiceServer) -> None:
        methods: Methods = {
            "Play": (self.engine.play, engine_pb2.PlayRequest),
            "Forfeit": (self.engine.forfeit, engine_pb2.ForfeitRequest),
            "LeaveSeat": (self.engine.leave_seat, engine_pb2.LeaveSeatRequest),
        }
        serve_methods(host, SERVICE, methods)

    async def drain(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""


class World:
    """Two engines, and a client whose home is the first."""

    def __init__(self, engines: list[ScriptedEngine], other: str, client: OkeyClient) -> None:
        self.home, self.other = engines
        self.other_address = other
        self.client = client

    def play(self) -> PlayedTable:
        return self.client.table(TABLE).play()


@asynccontextmanager
async def running(folder: Path, deadline_ms: int) -> AsyncIterator[World]:
    issuer = Issuer(folder)
    settings = ServiceSettings(
        environment=Environment.TEST, jwks_file=issuer.jwks_file, stop_grace_ms=0
    )
    async with AsyncExitStack() as stack:
        apps = [ScriptedApp(settings), ScriptedApp(settings)]
        servers = [await stack.enter_async_context(ServiceServer(app)) for app in apps]
        client = OkeyClient(
            engine_address=servers[0].address,
            token_provider=lambda: issuer.token("ada"),
            policy=RetryPolicy(tries=3, first_pause_ms=1, last_pause_ms=2, deadline_ms=deadline_ms),
        )
        await stack.enter_async_context(client)
        yield World([app.engine for app in apps], servers[1].address, client)


async def closes(line: Line) -> None:
    await line.end(End.STREAM_END_REASON_TABLE_CLOSED)
