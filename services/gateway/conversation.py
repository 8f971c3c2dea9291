"""What a player asks over its connection, frame by frame, once it has said who it is."""

from collections.abc import Awaitable
from typing import Final

from okey.api.engine.v1 import engine_pb2
from okey.errors import OkeyError, Refused, quoted
from okey_client import OkeyClient
from okey_runtime.clock import Clock
from okey_runtime.errors import MalformedRequest
from okey_runtime.validation import check_message
from services.gateway import frames
from services.gateway.failures import failure_for
from services.gateway.table_link import Send, Spawn, TableLink
from services.gateway.watches import Watches
from services.gateway.wire import Json, from_json

_OF_HELLO: Final = {
    "table_id": "table_id",
    "cursor": "after_seq",
    "invite": "invite",
    "with_view": "with_view",
}
"""What a hello says of its table, by the names of ``Attach``."""


class NoTableOpen(Refused):
    """A command came, and the connection has no table open."""

    reason = "NO_TABLE_OPEN"


class Conversation:
    """``take`` each frame; answers go to ``send``, work is begun with ``spawn``."""

    def __init__(self, client: OkeyClient, send: Send, spawn: Spawn, clock: Clock) -> None:
        self._client = client
        self._send = send
        self._spawn = spawn
        self._clock = clock
        self._watches = Watches(client, send, spawn)
        self._table: TableLink | None = None

    async def begin(self, hello: Json) -> None:
        """Open the table that the hello names, if it does; one that cannot be is answered so."""
        if "table_id" in hello:
            attach = {_OF_HELLO[key]: hello[key] for key in _OF_HELLO if key in hello}
            await self._answered(self._play({"attach": attach}))

    async def take(self, frame: str | bytes) -> None:
        """Do what one frame asks; what cannot be used is answered so."""
        await self._answered(self._do(frame))

    async def _answered(self, doing: Awaitable[None]) -> None:
        try:
            await doing
        except OkeyError as error:
            self._send(frames.error(failure_for(error)))

    async def _do(self, frame: str | bytes) -> None:
        kind, said = frames.read(frame)
        match kind:
            case "play":
                await self._play(said)
            case "detach":
                await self._let_go()
            case "watch":
                self._watches.begin(said)
            case "unwatch":
                self._watches.end(said)
            case "ping":
                self._send(frames.pong(said, self._clock.now_ms()))
            case _:
                raise MalformedRequest(f"{quoted(kind)} is no frame of this protocol")

    async def _play(self, said: Json) -> None:
        request = from_json(said, engine_pb2.PlayRequest())
        if request.WhichOneof("message") == "attach":
            check_message(request)
            await self._let_go()
            attach = request.attach
            self._table = TableLink(self._client, attach, self._send, self._spawn, self._clock)
            return
        if self._table is None:
            raise NoTableOpen("attach to a table first")
        command = getattr(request, request.WhichOneof("message") or "", None)
        if command is not None and not command.table_id:
            command.table_id = self._table.table_id
        check_message(request)
        self._table.ask(request)

    async def _let_go(self) -> None:
        table, self._table = self._table, None
        if table is not None:
            await table.close()
