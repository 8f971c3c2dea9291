"""One's own seat over one stream: what changes comes down, commands go up and are awaited.

    async with client.table(table_id).play() as seat:
        async for change in seat:
            ...
            await seat.act(turn, action)

A stream that breaks is opened again after the last row seen, at the engine that has the table by
then; commands that were not answered are sent again under their ids, so that each counts once.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Final, Self

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table.commands import Action
from okey_client.calls import new_request_id
from okey_client.commands import Commands
from okey_client.mirror import AddNonce, Change, TableMirror
from okey_client.pure import action_message
from okey_client.resumed import Open
from okey_runtime.errors import RpcFailure

NONCE_BYTES: Final = 32
NONCE_REFUSALS: Final = frozenset(
    {"NONCE_ALREADY_ADDED", "NONCE_TOO_LATE", "NOT_SEATED", "TABLE_CLOSED"}
)
"""Why a nonce is not wanted any more; nothing is wrong then."""

_MOST_UNSEEN: Final = 1_024

MakeMirror = Callable[[Open, AddNonce | None], TableMirror]


class PlayedTable:
    """Use it with ``async with`` and iterate over it; every refused command raises ``RpcFailure``.

    The iteration yields each ``Change`` once, in order, until the table closes, and raises what
    ends it. Who neither iterates nor leaves for a thousand changes gets no answers any more.
    """

    def __init__(self, commands: Commands, mirror: MakeMirror) -> None:
        self.table_id: Final = commands.table_id
        self._commands = commands
        self._mirror = mirror(self._commands.open, self._begin_nonce)
        self._changes: asyncio.Queue[Change | RpcFailure | None] = asyncio.Queue(_MOST_UNSEEN)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def view(self) -> table_pb2.TableView:
        """The newest view that has come, maybe newer than the newest change that was iterated over.

        Raises:
            LookupError: nothing has come yet; iterate first.
        """
        return self._mirror.view

    @property
    def end_reason(self) -> engine_pb2.StreamEndReason.ValueType:
        """Why the iteration is over; unspecified while it is not."""
        return self._mirror.end_reason

    async def __aenter__(self) -> Self:
        self._spawn(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def __aiter__(self) -> AsyncIterator[Change]:
        return self._iterate()

    async def _iterate(self) -> AsyncGenerator[Change, None]:
        while (change := await self._changes.get()) is not None:
            if isinstance(change, RpcFailure):
                raise change
            yield change

    async def act(self, turn: int, action: Action) -> int:
        """Do one action of a turn; the row that it became (U12)."""
        asked = engine_pb2.ActRequest(turn=turn, action=action_message(action))
        return await self._ask(engine_pb2.PlayRequest(act=asked))

    async def leave(self) -> int:
        """Leave before a match or after it, free of charge (W2)."""
        return await self._ask(engine_pb2.PlayRequest(leave_seat=engine_pb2.LeaveSeatRequest()))

    async def forfeit(self) -> int:
        """Give the running match up, for the price that the view names (M9)."""
        return await self._ask(engine_pb2.PlayRequest(forfeit=engine_pb2.ForfeitRequest()))

    async def claim_match(self) -> int:
        """End the Klasik match as its winner, where everybody else gave up (K9)."""
        return await self._ask(engine_pb2.PlayRequest(claim_match=engine_pb2.ClaimMatchRequest()))

    async def return_to_seat(self) -> int:
        """Take the seat back from its stand-in (U8)."""
        return await self._ask(
            engine_pb2.PlayRequest(return_to_seat=engine_pb2.ReturnToSeatRequest())
        )

    async def play_on(self) -> int:
        """Stay for the Nachspiel and pay the stake again (Ç8)."""
        return await self._ask(engine_pb2.PlayRequest(play_on=engine_pb2.PlayOnRequest()))

    async def add_nonce(self, nonce: bytes) -> int:
        """Add 32 bytes of one's own to the coming shuffle, once a deal (T9)."""
        asked = engine_pb2.AddNonceRequest(nonce=nonce)
        return await self._ask(engine_pb2.PlayRequest(add_nonce=asked))

    async def _ask(self, request: engine_pb2.PlayRequest) -> int:
        """Send a command, again while nobody can say whether it counts; its row."""
        command = getattr(request, request.WhichOneof("message") or "")
        command.table_id, command.request_id = self.table_id, new_request_id()
        return await self._commands.ask(request)

    async def _begin_nonce(self) -> None:
        """The mirror must not wait for an answer that it reads itself."""
        self._spawn(self._offer_nonce())

    async def _offer_nonce(self) -> None:
        try:
            await self.add_nonce(secrets.token_bytes(NONCE_BYTES))
        except RpcFailure as failure:
            if failure.reason not in NONCE_REFUSALS:
                raise

    async def _read(self) -> None:
        end: RpcFailure | None = None
        try:
            async for change in self._mirror:
                await self._changes.put(change)
        except RpcFailure as failure:
            end = failure
        self._commands.close(end)
        await self._changes.put(end)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
