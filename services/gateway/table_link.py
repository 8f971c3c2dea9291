"""The one table that a connection has open: its messages go down, its commands up."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final

from okey.api.engine.v1 import engine_pb2
from okey.errors import Exhausted
from okey_client import OkeyClient
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure
from services.gateway import frames
from services.gateway.metrics import COMMAND_SECONDS

_MOST_ASKED: Final = 32

Send = Callable[[str], None]
"""Hands a frame to the connection's outbox."""

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Begins work that lives no longer than the connection."""


class CommandsExhausted(Exhausted):
    """A connection has too many commands that are not answered yet."""

    reason = "COMMANDS_EXHAUSTED"
    retry_after_ms = 1_000


class TableLink:
    """Begins at once; ``attach`` is what the client has asked for."""

    def __init__(
        self,
        client: OkeyClient,
        attach: engine_pb2.Attach,
        send: Send,
        spawn: Spawn,
        clock: Clock,
    ) -> None:
        self.table_id: Final = attach.table_id
        self._send = send
        self._spawn = spawn
        self._clock = clock
        self._relay = client.table(attach.table_id, attach.invite).relay(
            after_seq=attach.after_seq,
            with_view=attach.with_view,
            on_break=lambda: send(frames.away(frames.TABLE)),
        )
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._following = spawn(self._follow())

    def ask(self, request: engine_pb2.PlayRequest) -> None:
        """Send a command up; its answer goes down. One that waits already is not sent twice.

        Raises:
            CommandsExhausted: too many wait for their answers.
        """
        request_id = getattr(request, request.WhichOneof("message") or "").request_id
        if request_id in self._asked:
            return
        if len(self._asked) >= _MOST_ASKED:
            raise CommandsExhausted(f"{_MOST_ASKED} commands of this connection wait already")
        self._asked[request_id] = self._spawn(self._ask(request_id, request))

    async def close(self) -> None:
        """Let the table go; nothing more is sent of it."""
        tasks = (self._following, *self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _follow(self) -> None:
        try:
            async with aclosing(aiter(self._relay)) as messages:
                async for message in messages:
                    self._send(frames.table(self.table_id, message))
        except RpcFailure as failure:
            self._send(frames.broken(frames.TABLE, failure))
        else:
            self._send(frames.over(frames.TABLE, "TABLE_CLOSED"))

    async def _ask(self, request_id: str, request: engine_pb2.PlayRequest) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            seq = await self._relay.ask(request)
        except RpcFailure as failure:
            outcome, frame = "refused", frames.declined(self.table_id, request_id, failure)
        else:
            outcome, frame = "accepted", frames.accepted(self.table_id, request_id, seq)
        finally:
            self._asked.pop(request_id, None)
        self._send(frame)
        seconds = (self._clock.monotonic_ms() - started_ms) / 1000
        COMMAND_SECONDS.labels(outcome).observe(seconds)
