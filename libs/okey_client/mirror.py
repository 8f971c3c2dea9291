"""A table kept up to date over reconnects, redirects and restarts of the engine."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.events.v1 import events_pb2
from okey_client.resumed import ResumedStream

AddNonce = Callable[[], Awaitable[object]]
"""Adds a nonce to the coming shuffle, where one is still wanted."""


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

    When too many rows were missed to be sent again, a look at the table stands for them.
    """

    def __init__(
        self,
        table_id: str,
        stream: ResumedStream,
        *,
        get_view: Callable[[], Awaitable[table_pb2.TableView]],
        add_nonce: AddNonce | None,
    ) -> None:
        self.table_id: Final = table_id
        self._stream = stream
        self._get_view = get_view
        self._add_nonce = add_nonce
        self._view: table_pb2.TableView | None = None
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
        return self._stream.end_reason

    def __aiter__(self) -> AsyncIterator[Change]:
        return self._changes()

    async def _changes(self) -> AsyncGenerator[Change, None]:
        async with aclosing(aiter(self._stream)) as messages:
            async for message in messages:
                if message.HasField("snapshot"):
                    self._view = message.snapshot
                    change = Change(message.snapshot.seq, (), message.snapshot)
                else:
                    change = await self._updated(message.update)
                await self._offer_nonce(change.view)
                yield change

    async def _updated(self, update: engine_pb2.TableUpdate) -> Change:
        if self._view is None or self._view.seq < update.seq:
            # Rows that are sent again after a break come without views, the newest apart.
            self._view = update.view if update.HasField("view") else await self._get_view()
        return Change(update.seq, tuple(update.events), self._view)

    async def _offer_nonce(self, view: table_pb2.TableView) -> None:
        """Once for each commitment, as soon as the table takes one (T9)."""
        if self._add_nonce is None or view.commitment == self._nonce_for:
            return
        if table_pb2.LEGAL_ACTION_ADD_NONCE in view.legal_actions:
            self._nonce_for = view.commitment
            await self._add_nonce()
