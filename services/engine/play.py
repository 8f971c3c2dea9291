"""The Play stream: attach first, then commands up, results and updates down."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final, Protocol

from google.protobuf.message import Message

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.errors import InvalidInput, OkeyError
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure, to_status
from okey_runtime.identity import Identity
from services.engine.actor import TableActor
from services.engine.errors import NotThisPlayer
from services.engine.following import Followed, From, follow
from services.engine.player_commands import PlayerCommands
from services.engine.tables import Tables

_MOST_UNSENT: Final = 64

Out = asyncio.Queue[engine_pb2.PlayResponse | BaseException | None]


class Numbered(Protocol):
    """A response that names the row that its command became."""

    @property
    def seq(self) -> int:
        """The row."""
        ...


class NotAttached(InvalidInput):
    """The first message of a Play stream, and only that one, is ``attach``."""

    reason = "ATTACH_FIRST"


class OtherTable(InvalidInput):
    """A Play stream is for the table that it was attached to."""

    reason = "OTHER_TABLE"


class PlayStreams:
    """Serves Play; commands of one stream run one after another."""

    def __init__(self, tables: Tables, commands: PlayerCommands, clock: Clock) -> None:
        self._tables = tables
        self._commands = commands
        self._clock = clock

    async def serve(
        self, requests: AsyncIterator[engine_pb2.PlayRequest], identity: Identity
    ) -> AsyncGenerator[engine_pb2.PlayResponse, None]:
        """The stream's answers; it ends when the caller says no more, or with a ``StreamEnd``."""
        first = await anext(requests, None)
        if first is None or first.WhichOneof("message") != "attach":
            raise NotAttached("send attach with the table first, then commands")
        attach = first.attach
        actor = await self._tables.get(attach.table_id)
        after = attach.after_seq if attach.HasField("after_seq") else None
        out: Out = asyncio.Queue(_MOST_UNSENT)
        tasks = [
            asyncio.create_task(_told(work, out))
            for work in (
                self._down(actor, identity, From(after, attach.with_view), out),
                self._up(actor, identity, requests, out),
            )
        ]
        try:
            while (response := await out.get()) is not None:
                if isinstance(response, BaseException):
                    raise response
                yield response
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _down(self, actor: TableActor, identity: Identity, start: From, out: Out) -> None:
        async with aclosing(follow(actor, identity, start, self._clock)) as stream:
            async for followed in stream:
                await out.put(_response(followed))

    async def _up(
        self,
        actor: TableActor,
        identity: Identity,
        requests: AsyncIterator[engine_pb2.PlayRequest],
        out: Out,
    ) -> None:
        async for request in requests:
            result = await self._result(actor, identity.player, request)
            await out.put(engine_pb2.PlayResponse(result=result))

    async def _result(
        self, actor: TableActor, player: str, request: engine_pb2.PlayRequest
    ) -> engine_pb2.CommandResult:
        case = request.WhichOneof("message") or ""
        if case == "attach":
            raise NotAttached("this stream is attached already; open another one")
        message = getattr(request, case)
        result = engine_pb2.CommandResult(request_id=message.request_id)
        try:
            if message.table_id != actor.table_id:
                raise OtherTable(f"this stream is attached to table {actor.table_id}")
            response = await self._run(case, actor, player, message)
        except (OkeyError, RpcFailure) as error:
            status = to_status(error)
            if status is None:
                raise
            result.error.CopyFrom(status)
        else:
            result.seq = response.seq
        return result

    async def _run(self, case: str, actor: TableActor, player: str, message: Message) -> Numbered:
        if isinstance(message, engine_pb2.LeaveSeatRequest) and message.player not in ("", player):
            raise NotThisPlayer(f"{player} cannot act for {message.player}")
        run: Callable[[TableActor, str, Message], Awaitable[Numbered]]
        run = getattr(self._commands, case)
        return await run(actor, player, message)


async def _told(work: Coroutine[Any, Any, None], out: Out) -> None:
    """Do the work and tell the stream how it ended: one end, good or bad, ends the stream."""
    ends = await asyncio.gather(work, return_exceptions=True)
    await out.put(ends[0])


def _response(followed: Followed) -> engine_pb2.PlayResponse:
    if isinstance(followed, table_pb2.TableView):
        return engine_pb2.PlayResponse(snapshot=followed)
    if isinstance(followed, engine_pb2.TableUpdate):
        return engine_pb2.PlayResponse(update=followed)
    return engine_pb2.PlayResponse(end=followed)
