"""Commands of a Play stream that meet their table on its way: to another engine, or into memory.

They wait for it as unary calls do, at most until their own deadline, and are asked where it is
then, one after another as they came.
"""

import asyncio
from typing import NoReturn

import grpc
from google.protobuf.message import Message

from okey.api.engine.v1 import engine_pb2_grpc
from okey_runtime.errors import from_rpc_error
from services.engine.errors import command_timed_out
from services.engine.forwarding import Call, Context, Forwarding
from services.engine.player_commands import Numbered, PlayerCommands
from services.engine.tables import Tables


class StreamCall(Call):
    """A command of a stream, as the unary call that it is elsewhere."""

    def __init__(self, message: Message, context: Context) -> None:
        method = type(message).__name__.removesuffix("Request")
        super().__init__(engine_pb2_grpc.TableServiceStub, method, message, context)

    async def refuse(self, error: grpc.aio.AioRpcError) -> NoReturn:
        """Raise what the other engine said: the command's answer, and no end of the stream."""
        raise from_rpc_error(error)


class Carrying:
    """The commands of one stream that wait for their table; ``close`` it at the stream's end."""

    def __init__(
        self,
        tables: Tables,
        commands: PlayerCommands,
        forwarding: Forwarding,
        player: str,
        context: Context,
    ) -> None:
        self._tables = tables
        self._commands = commands
        self._forwarding = forwarding
        self._player = player
        self._context = context
        self._last: asyncio.Task[Numbered] | None = None
        self._under_way: set[asyncio.Task[Numbered]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a command waits, so that later ones must wait behind it."""
        return bool(self._under_way)

    def carry(
        self, table_id: str, message: Message, within_ms: int, until_s: float
    ) -> asyncio.Future[Numbered]:
        """Ask it once the table is somewhere and those before it are answered; ``until_s`` is the
        loop's time at which it fails, ``within_ms`` after it came.
        """
        asking = self._in_time(self._last, table_id, message, within_ms, until_s)
        self._last = task = asyncio.create_task(asking)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def over(self) -> None:
        """Return once nothing waits any more."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    def close(self) -> None:
        """Nobody wants the answers any more."""
        for task in self._under_way:
            task.cancel()

    async def _in_time(
        self,
        before: asyncio.Task[Numbered] | None,
        table_id: str,
        message: Message,
        within_ms: int,
        until_s: float,
    ) -> Numbered:
        try:
            async with asyncio.timeout_at(until_s):
                if before is not None:
                    await asyncio.wait((before,))
                return await self._ask(table_id, message, until_s)
        except TimeoutError:
            raise command_timed_out(within_ms) from None

    async def _ask(self, table_id: str, message: Message, until_s: float) -> Numbered:
        async def here() -> Numbered:
            actor = await self._tables.get(table_id)
            left_ms = max(1, round((until_s - asyncio.get_running_loop().time()) * 1000))
            return await self._commands.begin(actor, self._player, message, left_ms)

        return await self._forwarding.answer(StreamCall(message, self._context), here)
