"""The lobby: making, finding, joining and leaving tables, and quick match."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.rules.variant import BotLevel
from okey_client.calls import Calls, new_request_id
from okey_client.table import TableClient
from okey_runtime.errors import RpcFailure

_LIVE: Final = (
    lobby_pb2.TICKET_STATE_WAITING,
    lobby_pb2.TICKET_STATE_AWAITING_PARTNER,
    lobby_pb2.TICKET_STATE_SEATING,
)


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A private table, and the code that lets others in; nobody can ask for it again."""

    table_id: str
    invite: str = field(repr=False)


class LobbyClient:
    """Calls of the lobby as the token's player; every refused one raises ``RpcFailure``.

    Whoever sits down adds a random nonce to the coming shuffle at once (T9); ``table`` gives the
    client of a table for that.
    """

    def __init__(
        self, channel: grpc.aio.Channel, calls: Calls, table: Callable[[str], TableClient]
    ) -> None:
        self._stub = lobby_pb2_grpc.LobbyServiceStub(channel)
        self._calls = calls
        self._table = table

    async def create_table(
        self,
        terms: lobby_pb2.TableTerms | None = None,
        *,
        bot_level: BotLevel | None = None,
        house_fill_after_ms: int = 0,
    ) -> str:
        """Make a table and take its seat 0 (W1); its id. Without terms: Çanak, four seats (Ç0)."""
        request = lobby_pb2.CreateTableRequest(
            terms=terms,
            bot_level=common_pb2.BotLevel.ValueType(bot_level or 0),
            house_fill_after_ms=house_fill_after_ms,
        )
        return (await self._create(request)).table_id

    async def create_private_table(
        self, terms: lobby_pb2.TableTerms | None = None, *, house_fill_after_ms: int = 0
    ) -> PrivateTable:
        """Make a table for oneself and whom one gives its invite code; it is in no list."""
        request = lobby_pb2.CreateTableRequest(
            terms=terms, house_fill_after_ms=house_fill_after_ms, is_private=True
        )
        made = await self._create(request)
        return PrivateTable(made.table_id, made.invite)

    async def _create(self, request: lobby_pb2.CreateTableRequest) -> lobby_pb2.CreateTableResponse:
        request.request_id = new_request_id()
        made = await self._calls.unary(self._stub.CreateTable, request)
        await self._table(made.table_id).offer_nonce()
        return made

    async def list_tables(
        self, filters: lobby_pb2.ListTablesRequest | None = None
    ) -> AsyncIterator[lobby_pb2.ListedTable]:
        """Every open table that passes the filters, page after page."""
        request = lobby_pb2.ListTablesRequest()
        if filters is not None:
            request.CopyFrom(filters)
        while True:
            page = await self._calls.unary(self._stub.ListTables, request)
            for table in page.tables:
                yield table
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def watch_tables(
        self, filters: lobby_pb2.ListTablesRequest | None = None
    ) -> AsyncIterator[list[lobby_pb2.ListedTable]]:
        """The first page of such a list whenever it changes, in order, across broken streams."""
        request = lobby_pb2.WatchTablesRequest(tables=filters)
        known: dict[str, lobby_pb2.ListedTable] = {}
        shown: list[lobby_pb2.ListedTable] | None = None
        # The first step of every stream tells all, so what is known of an earlier one does no harm.
        async with aclosing(self._calls.messages(lambda: self._stub.WatchTables(request))) as steps:
            async for step in steps:
                known.update((table.table_id, table) for table in step.changed)
                tables = [known[table_id] for table_id in step.table_ids]
                known = {table.table_id: table for table in tables}
                if tables != shown:
                    shown = tables
                    yield tables

    async def join_table(self, table_id: str, seat: int | None = None, invite: str = "") -> int:
        """Take the chosen seat, or any free one; a private table asks for its code. The seat."""
        request = lobby_pb2.JoinTableRequest(
            table_id=table_id, seat=seat, request_id=new_request_id(), invite=invite
        )
        joined = await self._calls.unary(self._stub.JoinTable, request)
        await self._table(table_id).offer_nonce()
        return joined.seat

    async def leave_table(self, table_id: str) -> None:
        """Leave before a match or after it, free of charge (W2)."""
        request = lobby_pb2.LeaveTableRequest(table_id=table_id, request_id=new_request_id())
        await self._calls.unary(self._stub.LeaveTable, request)

    async def enqueue_ticket(
        self,
        terms: lobby_pb2.TableTerms | None = None,
        *,
        opens_party: bool = False,
        party_code: str = "",
        house_fill_after_ms: int = 0,
    ) -> lobby_pb2.Ticket:
        """Ask for a match; watch the ticket, or it ends after 15 s of silence.

        ``opens_party`` gives a ticket with a ``party_code``, with which a partner asks instead of
        terms (Eşli); bots may take free seats after ``house_fill_after_ms``, 0 for never (W5).
        """
        request = lobby_pb2.EnqueueTicketRequest(
            terms=terms, house_fill_after_ms=house_fill_after_ms
        )
        if party_code:
            request.party_code = party_code
        elif opens_party:
            request.open_party = True
        return (await self._calls.unary(self._stub.EnqueueTicket, request)).ticket

    async def get_ticket(self) -> lobby_pb2.Ticket:
        """The player's newest ticket."""
        request = lobby_pb2.GetTicketRequest()
        return (await self._calls.unary(self._stub.GetTicket, request)).ticket

    async def cancel_ticket(self) -> None:
        """Take a waiting ticket back."""
        await self._calls.unary(self._stub.CancelTicket, lobby_pb2.CancelTicketRequest())

    async def watch_ticket(self) -> AsyncIterator[lobby_pb2.Ticket]:
        """The newest ticket at each change until it is over, across broken streams."""
        request = lobby_pb2.WatchTicketRequest()
        shown: lobby_pb2.Ticket | None = None
        async with aclosing(self._calls.messages(lambda: self._stub.WatchTicket(request))) as told:
            async for message in told:
                if message.ticket != shown:
                    shown = message.ticket
                    yield shown
                if message.ticket.state not in _LIVE:
                    return

    async def quick_match(
        self,
        terms: lobby_pb2.TableTerms | None = None,
        *,
        party_code: str = "",
        house_fill_after_ms: int = 0,
    ) -> lobby_pb2.Ticket:
        """Wait for a match; the ticket when it is over, SEATED if all went well.

        A platform that has lost its tickets meanwhile is asked again.
        """
        while True:
            ticket = await self.enqueue_ticket(
                terms, party_code=party_code, house_fill_after_ms=house_fill_after_ms
            )
            try:
                if ticket.state in _LIVE:
                    async for newer in self.watch_ticket():
                        ticket = newer
            except RpcFailure as failure:
                if failure.reason != "TICKET_NOT_FOUND":
                    raise
                continue
            if ticket.state == lobby_pb2.TICKET_STATE_SEATED:
                await self._table(ticket.table_id).offer_nonce()
            return ticket
