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
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import grpc
from google.rpc import error_details_pb2, status_pb2

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.table.commands import Action
from okey_client.calls import Calls, is_repeatable, new_request_id
from okey_client.mirror import AddNonce, Change, Message, Open, Stream, TableMirror
from okey_client.pure import action_message
from okey_runtime.errors import DOMAIN, RpcFailure, status_code

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

    def __init__(self, table_id: str, calls: Calls, mirror: MakeMirror, invite: str = "") -> None:
        self.table_id: Final = table_id
        self._calls = calls
        self._commands = _Commands(table_id, invite)
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
        failures = 0
        while True:
            try:
                return await self._commands.send(command.request_id, request)
            except RpcFailure as failure:
                failures += 1
                if not is_repeatable(failure) or failures >= self._calls.policy.tries:
                    raise
            await self._calls.pause(failures)

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
        self._commands.close(end or _closed(self.table_id))
        await self._changes.put(end)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Commands:
    """What was asked and is not answered yet, over whatever stream is open."""

    def __init__(self, table_id: str, invite: str) -> None:
        self._table_id = table_id
        self._invite = invite
        self._waiting: dict[str, tuple[engine_pb2.PlayRequest, asyncio.Future[int]]] = {}
        self._writing = asyncio.Lock()
        self._call: _Call | None = None
        self._over: RpcFailure | None = None

    def open(self, stub: engine_pb2_grpc.TableServiceStub, after_seq: int) -> Stream:
        """Open a stream and attach it; what waits for an answer is asked again."""
        attach = engine_pb2.Attach(
            table_id=self._table_id,
            with_view=True,
            after_seq=after_seq or None,
            invite=self._invite,
        )
        return _Opened(self, stub.Play(), engine_pb2.PlayRequest(attach=attach))

    async def begin(self, call: "_Call", attach: engine_pb2.PlayRequest) -> None:
        """Attach, and ask again."""
        async with self._writing:
            for request in (attach, *(request for request, _ in self._waiting.values())):
                await _write(call, request)
            self._call = call

    def lost(self) -> None:
        """The stream is over; what is asked now waits for the next one."""
        self._call = None

    async def send(self, request_id: str, request: engine_pb2.PlayRequest) -> int:
        """The row that the command became, over however many streams.

        Raises:
            RpcFailure: it was refused, or there is no stream any more.
        """
        if self._over is not None:
            raise self._over
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = (request, answer)
        try:
            async with self._writing:
                if self._call is not None:
                    await _write(self._call, request)
            return await answer
        finally:
            self._waiting.pop(request_id, None)

    def answered(self, result: engine_pb2.CommandResult) -> None:
        """Hand an answer to whoever waits for it."""
        _, answer = self._waiting.get(result.request_id, (None, None))
        if answer is None or answer.done():
            return
        if result.HasField("error"):
            answer.set_exception(_failure(result.error))
        else:
            answer.set_result(result.seq)

    def close(self, why: RpcFailure) -> None:
        """There will be no answers any more."""
        self._over = why
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(why)


_Call = grpc.aio.StreamStreamCall[engine_pb2.PlayRequest, engine_pb2.PlayResponse]


class _Opened:
    """An open Play stream as the mirror reads it: without the answers, which go to who waits."""

    def __init__(self, commands: _Commands, call: "_Call", attach: engine_pb2.PlayRequest) -> None:
        self._commands = commands
        self._call = call
        self._attach = attach

    async def __aiter__(self) -> AsyncIterator[Message]:
        await self._commands.begin(self._call, self._attach)
        async for message in self._call:
            if message.WhichOneof("message") == "result":
                self._commands.answered(message.result)
            else:
                yield message

    def cancel(self) -> object:
        """End it."""
        self._commands.lost()
        return self._call.cancel()


async def _write(call: "_Call", request: engine_pb2.PlayRequest) -> None:
    # A stream that is over says so to whoever reads it, and the next one is asked again.
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await call.write(request)


def _failure(status: status_pb2.Status) -> RpcFailure:
    info = error_details_pb2.ErrorInfo()
    is_ours = any(detail.Unpack(info) and info.domain == DOMAIN for detail in status.details)
    reason, metadata = (info.reason, dict(info.metadata)) if is_ours else ("", {})
    return RpcFailure(status_code(status), reason, status.message, metadata)


def _closed(table_id: str) -> RpcFailure:
    return RpcFailure(
        grpc.StatusCode.FAILED_PRECONDITION, "TABLE_CLOSED", f"table {table_id} is closed", {}
    )
