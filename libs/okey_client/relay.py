"""A table's ``Play`` stream for those who pass it on: messages as the engine sends them.

    async for message in relay:
        ...                         # a snapshot, or an update, each row once and in order
    await relay.ask(request)        # meanwhile: a command as it came, with its request id

As ``PlayedTable`` it lives through broken streams, redirects and restarts of the engine.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from okey.api.engine.v1 import engine_pb2
from okey_client.commands import Commands
from okey_client.resumed import Message, ResumedStream
from okey_runtime.errors import RpcFailure


class RelayedTable:
    """Iterate over it once, until the table closes; what ends it earlier is raised as
    ``RpcFailure``.
    """

    def __init__(self, commands: Commands, stream: ResumedStream) -> None:
        self._commands = commands
        self._stream = stream

    @property
    def table_id(self) -> str:
        """The table."""
        return self._commands.table_id

    def __aiter__(self) -> AsyncGenerator[Message, None]:
        return self._messages()

    async def _messages(self) -> AsyncGenerator[Message, None]:
        try:
            async with aclosing(aiter(self._stream)) as messages:
                async for message in messages:
                    yield message
        except RpcFailure as failure:
            self._commands.close(failure)
            raise
        self._commands.close(None)

    async def ask(self, request: engine_pb2.PlayRequest) -> int:
        """The row that the command became; its table is this one, its request id the caller's own,
        and no other command waits under it.

        Raises:
            RpcFailure: it was refused, or the streams are over.
        """
        command = getattr(request, request.WhichOneof("message") or "")
        command.table_id = self.table_id
        return await self._commands.ask(request)
