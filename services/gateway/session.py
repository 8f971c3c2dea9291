"""One WebSocket connection, from its hello to its end."""

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from okey.errors import OkeyError
from okey_client import OkeyClient
from okey_runtime.access import RoleRefused, TokenMissing
from okey_runtime.auth import TokenExpired
from okey_runtime.bad_tokens import TooManyBadTokens
from okey_runtime.clock import Clock
from okey_runtime.errors import MalformedRequest, Unauthenticated
from okey_runtime.identity import Identity
from okey_runtime.limits import Buckets, Gate
from okey_runtime.logging import log_context
from okey_runtime.revocation import Revocations
from okey_runtime.trace import adopt_trace
from services.gateway import ending, frames
from services.gateway.caller import Callers, speaking_with
from services.gateway.conversation import Conversation
from services.gateway.failures import failure_for
from services.gateway.metrics import ENDS, FRAMES
from services.gateway.outbox import Outbox
from services.gateway.sessions import ConnectionsExhausted, Sessions
from services.gateway.web_socket import abort, admit
from services.gateway.wire import Json

_HELLO: Final = "hello"
_UP: Final = FRAMES.labels("up")
_DOWN: Final = FRAMES.labels("down")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a connection may take: frames that wait for it, milliseconds to say hello, and to read
    why it ends.
    """

    frames: int
    hello_ms: int
    grace_ms: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections of the gateway share."""

    client: OkeyClient
    callers: Callers
    revocations: Revocations
    sessions: Sessions
    bounds: Bounds
    clock: Clock
    pace: Buckets
    """How fast a player's frames are read, all its connections together."""
    gate: Gate
    """How often a player may make calls over HTTP."""


class Session:
    """``run`` it once; it ends when the client has gone, or was sent away."""

    def __init__(self, socket: WebSocket, shared: Shared) -> None:
        self._socket = socket
        self._shared = shared
        self._outbox = Outbox(shared.bounds.frames)
        self._group: asyncio.TaskGroup | None = None
        self._begun: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve the connection, which has been accepted."""
        adopt_trace(())
        with ExitStack() as held:
            held.enter_context(self._shared.sessions.entered(self._outbox))
            async with asyncio.TaskGroup() as group:
                self._group = group
                writing = self._spawn(self._write())
                self._spawn(self._read())
                await self._outbox.over.wait()
                await self._told(writing)
                # An exception would end them too, but be kept until garbage is collected.
                for task in tuple(self._begun):
                    task.cancel()
        if self._outbox.ending is not None:
            ENDS.labels(self._outbox.ending.reason).inc()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Begin work that ends with the connection."""
        assert self._group is not None, "it runs"
        task = self._group.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task

    async def _told(self, writing: "asyncio.Task[None]") -> None:
        """Give the client a moment to read why it ends; one that does not read is dropped."""
        await asyncio.wait((writing,), timeout=self._shared.bounds.grace_ms / 1000)
        if not writing.done():
            abort(self._socket.scope)

    async def _write(self) -> None:
        try:
            while (frame := await self._outbox.get()) is not None:
                await self._socket.send_text(frame)
                _DOWN.inc()
            if self._outbox.ending is not None:
                why = self._outbox.ending
                await self._socket.close(why.code, why.reason)
        except WebSocketDisconnect:
            self._outbox.abandon()

    async def _read(self) -> None:
        with ExitStack() as held:
            try:
                async with asyncio.timeout(self._shared.bounds.hello_ms / 1000):
                    hello = await self._hello()
                player = self._identify(hello)
                held.enter_context(self._shared.sessions.owned_by(player.player))
                admit(self._socket.scope)
            except WebSocketDisconnect:
                self._outbox.abandon()
            except (ConnectionsExhausted, TooManyBadTokens) as error:
                self._outbox.end(ending.crowded(failure_for(error)))
            except (MalformedRequest, TimeoutError):
                self._outbox.end(ending.HELLO_EXPECTED)
            except TokenExpired:
                self._outbox.end(ending.TOKEN_EXPIRED)
            except OkeyError as error:
                self._outbox.end(ending.refused(failure_for(error)))
            else:
                held.enter_context(speaking_with(hello["token"]))
                held.enter_context(log_context(player_id=player.subject))
                held.enter_context(self._shared.revocations.until_end(player, self._over))
                await self._converse(hello, player)

    async def _hello(self) -> Json:
        """What the first frame says. Raises ``MalformedRequest``, ``WebSocketDisconnect``."""
        kind, said = frames.read(await self._receive())
        if kind != _HELLO:
            raise MalformedRequest("the first frame is a hello")
        return said

    def _identify(self, hello: Json) -> Identity:
        """The player. Raises ``TokenMissing``, ``TokenInvalid``, ``TokenExpired``,
        ``TooManyBadTokens``, or
        ``RoleRefused`` where the token is no player's.
        """
        token = hello.get("token")
        if not token or not isinstance(token, str):
            raise TokenMissing("the hello needs a token")
        caller = self._shared.callers.verify(token, self._socket.scope["client"][0])
        if not caller.player:
            raise RoleRefused("the WebSocket is for players: the token needs the role 'player'")
        return caller

    async def _converse(self, hello: Json, player: Identity) -> None:
        clock, send = self._shared.clock, self._outbox.put
        conversation = Conversation(self._shared.client, send, self._spawn, clock)
        send(frames.welcome(player, clock.now_ms()))
        try:
            await conversation.begin(hello)
            while True:
                await conversation.take(await self._receive())
                await self._outbox.room()
                while wait_ms := self._shared.pace.take(player.player, "frames"):
                    await clock.sleep_until_ms(clock.monotonic_ms() + wait_ms)
        except WebSocketDisconnect:
            self._outbox.abandon()

    def _over(self, why: Unauthenticated) -> None:
        self._outbox.end(ending.over(why))

    async def _receive(self) -> str | bytes:
        """The next frame, which may also come as bytes. Raises ``WebSocketDisconnect``."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message["code"])
        _UP.inc()
        frame: str | bytes = message.get("text") or message.get("bytes") or ""
        return frame
