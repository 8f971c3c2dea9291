"""What is asked over a table's ``Play`` stream: answered once, however many streams it takes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_client.calls import Calls, is_repeatable
from okey_client.resumed import Message, Stream
from okey_runtime.errors import RpcFailure, failure_of

Alone = Callable[[engine_pb2.PlayRequest], Awaitable[int]]
"""Asks a command by a call of its own; its row."""

_Call = grpc.aio.StreamStreamCall[engine_pb2.PlayRequest, engine_pb2.PlayResponse]


class Commands:
    """Opens the streams of one table, and keeps what was asked until it is answered.

    ``attach`` names the table; what is not answered when a stream ends is asked again on the next
    one, under its request id, so that it counts once. When the table has closed it is asked
    ``alone``: the command that closes a table may be answered after the stream's end.
    """

    def __init__(self, attach: engine_pb2.Attach, calls: Calls, alone: Alone) -> None:
        self.table_id: Final = attach.table_id
        self._alone = alone
        self._attach = attach
        self._calls = calls
        self._waiting: dict[str, tuple[engine_pb2.PlayRequest, asyncio.Future[int]]] = {}
        self._writing = asyncio.Lock()
        self._call: _Call | None = None
        self._over: RpcFailure | None = None
        self._is_closed = False

    def open(self, stub: engine_pb2_grpc.TableServiceStub, after_seq: int) -> Stream:
        """Open a stream and attach it; what waits for an answer is asked again."""
        attach = engine_pb2.Attach(after_seq=after_seq or None)
        attach.MergeFrom(self._attach)
        return _Opened(self, stub.Play(), engine_pb2.PlayRequest(attach=attach))

    async def ask(self, request: engine_pb2.PlayRequest) -> int:
        """Send a command with a request id of its own, again while nobody can say whether it
        counts; its row. A stream that gives no answer in time is hung up: its engine hangs, and
        somebody else may have the table by now.

        Raises:
            RpcFailure: it was refused, or there is no stream any more.
        """
        failures = 0
        while True:
            try:
                return await self._send(request)
            except RpcFailure as failure:
                if self._is_closed:
                    return await self._alone(request)
                failures += 1
                is_over = self._over is not None
                if is_over or not is_repeatable(failure) or failures >= self._calls.policy.tries:
                    raise
            await self._calls.pause(failures)

    async def _send(self, request: engine_pb2.PlayRequest) -> int:
        if self._over is not None:
            raise self._over
        request_id = getattr(request, request.WhichOneof("message") or "").request_id
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = (request, answer)
        call, deadline_ms = self._call, self._calls.policy.deadline_ms
        try:
            async with asyncio.timeout(deadline_ms / 1000):
                async with self._writing:
                    if self._call is not None:
                        await _write(self._call, request)
                return await answer
        except TimeoutError as error:
            if call is not None:
                call.cancel()
            raise RpcFailure(
                grpc.StatusCode.DEADLINE_EXCEEDED, "", f"no answer within {deadline_ms} ms", {}
            ) from error
        finally:
            self._waiting.pop(request_id, None)

    def close(self, why: RpcFailure | None) -> None:
        """There will be no answers any more: what has ended the streams, None where the table has
        closed.
        """
        self._is_closed = why is None
        self._over = why or RpcFailure(
            grpc.StatusCode.FAILED_PRECONDITION,
            "TABLE_CLOSED",
            f"table {self.table_id} is closed",
            {},
        )
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._over)

    async def begin(self, call: _Call, attach: engine_pb2.PlayRequest) -> None:
        """Attach a stream that was opened, and ask again."""
        async with self._writing:
            for request in (attach, *(request for request, _ in self._waiting.values())):
                await _write(call, request)
            self._call = call

    def lost(self) -> None:
        """The stream is over; what is asked now waits for the next one."""
        self._call = None

    def answered(self, result: engine_pb2.CommandResult) -> None:
        """Hand an answer to whoever waits for it."""
        _, answer = self._waiting.get(result.request_id, (None, None))
        if answer is None or answer.done():
            return
        if result.HasField("error"):
            answer.set_exception(failure_of(result.error))
        else:
            answer.set_result(result.seq)


class _Opened:
    """An open Play stream as others read it: without the answers, which go to who waits."""

    def __init__(self, commands: Commands, call: _Call, attach: engine_pb2.PlayRequest) -> None:
        self._commands = commands
        self._call = call
        self._attach = attach

    async def __aiter__(self) -> AsyncIterator[Message]:
        await self._commands.begin(self._call, self._attach)
        with _left_if_hung_up():
            async for message in self._call:
                if message.WhichOneof("message") == "result":
                    self._commands.answered(message.result)
                else:
                    yield message

    def cancel(self) -> object:
        """End it."""
        self._commands.lost()
        return self._call.cancel()


async def _write(call: _Call, request: engine_pb2.PlayRequest) -> None:
    # A stream that is over says so to whoever reads it, and the next one is asked again.
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError), _left_if_hung_up():
        await call.write(request)


@contextmanager
def _left_if_hung_up() -> Iterator[None]:
    """Leave the block where gRPC raises for a call that was hung up what it raises for a task that
    is cancelled.
    """
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
