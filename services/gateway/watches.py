"""What a connection follows beside its table: the player's ticket, a list of tables."""

import asyncio
from collections.abc import AsyncIterator

from okey.api.lobby.v1 import lobby_pb2
from okey.errors import quoted
from okey_client import OkeyClient
from okey_runtime.errors import MalformedRequest, RpcFailure
from okey_runtime.validation import check_message
from services.gateway import frames
from services.gateway.table_link import Send, Spawn
from services.gateway.wire import Json, from_json


class Watches:
    """At most one of each kind; a new one takes the place of the old one."""

    def __init__(self, client: OkeyClient, send: Send, spawn: Spawn) -> None:
        self._client = client
        self._send = send
        self._spawn = spawn
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, said: Json) -> None:
        """Follow what a ``watch`` names. Raises ``MalformedRequest``, ``InvalidField``."""
        kind, asked = _only(said)
        match kind:
            case frames.TICKET:
                shown = self._tickets()
            case frames.TABLES:
                request = from_json(asked, lobby_pb2.ListTablesRequest(), is_reading=True)
                check_message(request)
                shown = self._lists(request)
            case _:
                raise MalformedRequest(f"{quoted(kind)} cannot be watched: ticket, or tables")
        self._stop(kind)
        self._running[kind] = self._spawn(self._follow(kind, shown))

    def end(self, said: Json) -> None:
        """Follow it no more. Raises ``MalformedRequest``."""
        kind, _ = _only(said)
        self._stop(kind)

    def _stop(self, kind: str) -> None:
        running = self._running.pop(kind, None)
        if running is not None:
            running.cancel()

    async def _follow(self, kind: str, shown: AsyncIterator[str]) -> None:
        try:
            async for frame in shown:
                self._send(frame)
        except RpcFailure as failure:
            self._send(frames.broken(kind, failure))
        else:
            self._send(frames.over(kind, "OVER"))

    async def _tickets(self) -> AsyncIterator[str]:
        async for ticket in self._client.lobby.watch_ticket():
            yield frames.ticket(ticket)

    async def _lists(self, request: lobby_pb2.ListTablesRequest) -> AsyncIterator[str]:
        async for listed in self._client.lobby.watch_tables(request):
            yield frames.tables(listed)


def _only(said: Json) -> tuple[str, Json]:
    if len(said) != 1:
        raise MalformedRequest("one thing is watched, and one watch ended, at a time")
    [(kind, asked)] = said.items()
    if not isinstance(asked, dict):
        raise MalformedRequest("what is watched is asked for by an object")
    return kind, asked
