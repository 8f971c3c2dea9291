"""A table kept up to date over reconnects, redirects and restarts of the engine."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.events.v1 import events_pb2
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


AddNonce = Callable[[], Awaitable[object]]
"""Adds a nonce to the coming shuffle, where one is still wanted."""

Open = Callable[[engine_pb2_grpc.TableServiceStub, int], Stream]
"""Opens a stream at an engine, after the row of this number; 0 asks for a snapshot."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one row of the table's journal did; ``events`` is empty for a first look at the table.

    ``view`` is the table after it, or after a later row where several were missed.
    """

    seq: int
    events: tuple[events_pb2.Event, ...]
    view: table_pb2.TableView


class TableMirror:
    """The newest view of a table; iterating yields each ``Change`` once, in order, until it closes.

    A stream that breaks is opened again after the last row seen, at the engine that has the table
    by now. When too many rows were missed to be sent again, a look at the table stands for them.
    """

    def __init__(
        self,
        table_id: str,
        address: str,
        channels: Channels,
        calls: Calls,
        *,
        open_stream: Open,
        get_view: Callable[[], Awaitable[table_pb2.TableView]],
        add_nonce: AddNonce | None,
    ) -> None:
        self.table_id: Final = table_id
        self._home = address
        self._address = address
        self._channels = channels
        self._calls = calls
        self._open = open_stream
        self._get_view = get_view
        self._add_nonce = add_nonce
        self._view: table_pb2.TableView | None = None
        self._seq = 0
        self._end: engine_pb2.StreamEnd | None = None
        self._nonce_for = b""

    @property
    def view(self) -> table_pb2.TableView:
        """The newest view.

        Raises:
            LookupError: nothing has come yet; iterate first.
        """
        if self._view is None:
            raise LookupError(f"nothing is known of table {self.table_id} yet: iterate first")
        return self._view

    @property
    def end_reason(self) -> engine_pb2.StreamEndReason.ValueType:
        """Why the iteration is over; unspecified while it is not."""
        return self._end.reason if self._end else engine_pb2.STREAM_END_REASON_UNSPECIFIED

    @property
    def _is_closed(self) -> bool:
        return self.end_reason == engine_pb2.STREAM_END_REASON_TABLE_CLOSED

    def __aiter__(self) -> AsyncIterator[Change]:
        return self._changes()

    async def _changes(self) -> AsyncGenerator[Change, None]:
        failures = 0
        while True:
            seen_before = self._seq
            try:
                async with aclosing(self._one_stream()) as stream:
                    async for change in stream:
                        yield change
                failure = None
            except grpc.aio.AioRpcError as error:
                failure = from_rpc_error(error)
            if self._is_closed:
                return
            failures = 1 if self._seq > seen_before else failures + 1
            self._give_up_on(failure, failures)
            await self._calls.pause(failures)

    def _give_up_on(self, failure: RpcFailure | None, failures: int) -> None:
        """Raise the failure unless another stream may do better; go home from a dead engine."""
        if failure is None:
            if failures >= self._calls.policy.tries:
                raise RpcFailure(
                    grpc.StatusCode.UNAVAILABLE,
                    engine_pb2.StreamEndReason.Name(self.end_reason),
                    f"the streams of table {self.table_id} keep ending with nothing new",
                    {},
                )
            return
        if not is_repeatable(failure) or failures >= self._calls.policy.tries:
            raise failure
        self._address = self._home

    async def _one_stream(self) -> AsyncGenerator[Change, None]:
        stub = engine_pb2_grpc.TableServiceStub(self._channels.to(self._address))
        call = self._open(stub, self._seq)
        try:
            async for message in call:
                match message.WhichOneof("message"):
                    case "snapshot":
                        change = self._look(message.snapshot)
                    case "update":
                        change = await self._update(message.update)
                    case "end":
                        self._ended(message.end)
                        return
                    case _:
                        continue
                if change is not None:
                    await self._offer_nonce(change.view)
                    yield change
        finally:
            call.cancel()

    def _look(self, view: table_pb2.TableView) -> Change | None:
        if self._view is not None and view.seq <= self._seq:
            return None
        self._view, self._seq = view, view.seq
        return Change(view.seq, (), view)

    async def _update(self, update: engine_pb2.TableUpdate) -> Change | None:
        if update.seq <= self._seq:
            return None
        self._seq = update.seq
        if self._view is None or self._view.seq < update.seq:
            # Rows that are sent again after a break come without views, the newest apart.
            self._view = update.view if update.HasField("view") else await self._get_view()
        return Change(update.seq, tuple(update.events), self._view)

    def _ended(self, end: engine_pb2.StreamEnd) -> None:
        self._end = end
        if end.reason in _MOVES and end.address:
            self._address = end.address
        elif not self._is_closed:
            self._address = self._home

    async def _offer_nonce(self, view: table_pb2.TableView) -> None:
        """Once for each commitment, as soon as the table takes one (T9)."""
        if self._add_nonce is None or view.commitment == self._nonce_for:
            return
        if table_pb2.LEGAL_ACTION_ADD_NONCE in view.legal_actions:
            self._nonce_for = view.commitment
            await self._add_nonce()
