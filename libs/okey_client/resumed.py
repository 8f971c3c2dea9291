"""A table's stream over reconnects, redirects and restarts of the engine, message by message."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, Protocol

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey_client.calls import Calls, is_repeatable
from okey_client.channels import Channels
from okey_runtime.errors import RpcFailure, from_rpc_error

_MOVES: Final = (
    engine_pb2.STREAM_END_REASON_MOVED,
    engine_pb2.STREAM_END_REASON_NOT_OWNER,
)

Message = engine_pb2.WatchTableResponse | engine_pb2.PlayResponse


class Stream(Protocol):
    """An open stream of a table: a snapshot, updates, an end."""

    def __aiter__(self) -> AsyncIterator[Message]:
        """What comes, until it ends."""
        ...

    def cancel(self) -> object:
        """End it."""
        ...


Open = Callable[[engine_pb2_grpc.TableServiceStub, int], Stream]
"""Opens a stream at an engine, after the row of this number; 0 asks for a snapshot."""


def _nobody_cares() -> None:
    """What a break means to those who only wait for what comes next."""


class ResumedStream:
    """Iterating yields each snapshot and update that tells of a newer row, until the table closes.

    A stream that breaks is opened again after the last row seen, at the engine that has the table
    by now; ``on_break`` hears of it. The row ``after_seq`` and those before it count as seen.
    """

    def __init__(
        self,
        address: str,
        channels: Channels,
        calls: Calls,
        open_stream: Open,
        *,
        after_seq: int = 0,
        on_break: Callable[[], None] = _nobody_cares,
    ) -> None:
        self._home = address
        self._address = address
        self._channels = channels
        self._calls = calls
        self._open = open_stream
        self._on_break = on_break
        self._seq = after_seq
        self._has_begun = False
        self._end: engine_pb2.StreamEnd | None = None

    @property
    def end_reason(self) -> engine_pb2.StreamEndReason.ValueType:
        """Why the newest stream ended; unspecified while none has said so."""
        return self._end.reason if self._end else engine_pb2.STREAM_END_REASON_UNSPECIFIED

    @property
    def _is_closed(self) -> bool:
        return self.end_reason == engine_pb2.STREAM_END_REASON_TABLE_CLOSED

    def __aiter__(self) -> AsyncGenerator[Message, None]:
        return self._messages()

    async def _messages(self) -> AsyncGenerator[Message, None]:
        failures = 0
        while True:
            seen_before = self._seq
            failure = None
            try:
                async with aclosing(self._one_stream()) as stream:
                    async for message in stream:
                        yield message
            except grpc.aio.AioRpcError as error:
                failure = from_rpc_error(error)
            if self._is_closed:
                return
            failures = 1 if self._seq > seen_before else failures + 1
            self._give_up_on(failure, failures)
            self._on_break()
            await self._calls.pause(failures)

    def _give_up_on(self, failure: RpcFailure | None, failures: int) -> None:
        """Raise the failure unless another stream may do better; go home from a dead engine."""
        if failure is None:
            if failures >= self._calls.policy.tries:
                raise RpcFailure(
                    grpc.StatusCode.UNAVAILABLE,
                    engine_pb2.StreamEndReason.Name(self.end_reason),
                    "the streams of the table keep ending with nothing new",
                    {},
                )
            return
        if not is_repeatable(failure) or failures >= self._calls.policy.tries:
            raise failure
        self._address = self._home

    async def _one_stream(self) -> AsyncGenerator[Message, None]:
        stub = engine_pb2_grpc.TableServiceStub(self._channels.to(self._address))
        call = self._open(stub, self._seq)
        try:
            async for message in call:
                match message.WhichOneof("message"):
                    case "snapshot":
                        if self._is_news(message.snapshot.seq):
                            yield message
                    case "update":
                        if self._is_news(message.update.seq):
                            yield message
                    case "end":
                        self._ended(message.end)
                        return
                    case _:
                        continue
            # It was cut without a word: whoever was there may not have the table any more.
            self._address = self._home
        finally:
            call.cancel()

    def _is_news(self, seq: int) -> bool:
        """Whether the row is a new one; the first look is, whatever was seen before."""
        is_news = seq > self._seq or not self._has_begun
        self._has_begun = True
        if is_news:
            self._seq = seq
        return is_news

    def _ended(self, end: engine_pb2.StreamEnd) -> None:
        self._end = end
        if end.reason in _MOVES and end.address:
            self._address = end.address
        elif not self._is_closed:
            self._address = self._home
