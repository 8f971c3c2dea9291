"""LobbyService: requests to words, words to answers; who calls is told by the token."""

import secrets
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.errors import Unavailable
from okey.rules.variant import BotLevel, Mode
from okey_runtime.access import AccessTable
from okey_runtime.auth import TokenExpired
from okey_runtime.clock import Clock
from okey_runtime.identity import Role, current_identity
from okey_runtime.service_token import AUTHORIZATION
from services.lobby.bot_bank import BotBank
from services.lobby.engine_tables import EngineTables
from services.lobby.table_filter import page_of
from services.lobby.table_list import TableList
from services.lobby.ticket import Ticket, TicketBeingSeated, TicketNotFound, TicketState
from services.lobby.ticket_store import QuickMatchUnavailable, TicketStore
from services.lobby.wire import terms_from, ticket_to

SERVICE: Final = "okey.api.lobby.v1.LobbyService"

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        name: {Role.PLAYER}
        for name in (
            "CreateTable",
            "ListTables",
            "JoinTable",
            "LeaveTable",
            "EnqueueTicket",
            "GetTicket",
            "WatchTicket",
            "CancelTicket",
        )
    },
)

WATCH_MS: Final = 300
"""How often a watched ticket is looked at."""

Context = grpc.aio.ServicerContext[Any, Any]


class LobbyStopping(Unavailable):
    """This replica stops; another one goes on with the stream."""

    reason = "LOBBY_STOPPING"


class LobbyServicer(lobby_pb2_grpc.LobbyServiceServicer):
    """Serves players; requests were checked for shape and role before they come here."""

    def __init__(
        self,
        engine: EngineTables,
        bot_bank: BotBank,
        tables: TableList,
        tickets: TicketStore,
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._bot_bank = bot_bank
        self._tables = tables
        self._tickets = tickets
        self._clock = clock
        self._is_stopping = False

    def end_streams(self) -> None:
        """Let every open stream end soon, so that it goes on at another replica."""
        self._is_stopping = True

    async def CreateTable(
        self, request: lobby_pb2.CreateTableRequest, context: Context
    ) -> lobby_pb2.CreateTableResponse:
        """W1, O1, M7."""
        caller = current_identity()
        terms = terms_from(request.terms)
        bot_level = BotLevel(request.bot_level or BotLevel.NORMAL)
        terms.check(bot_level, request.house_fill_after_ms)
        if terms.mode is Mode.SOLO:
            await self._bot_bank.require_open()
        sitting = await self._engine.open_table(
            request.request_id,
            caller.subject,
            caller.name,
            terms,
            bot_level,
            request.house_fill_after_ms,
        )
        await self._forget_ticket(caller.subject)
        return lobby_pb2.CreateTableResponse(table_id=sitting.table_id, seat=sitting.seat)

    async def ListTables(
        self, request: lobby_pb2.ListTablesRequest, context: Context
    ) -> lobby_pb2.ListTablesResponse:
        """A page of the copy of the engine's list."""
        return page_of(await self._tables.newest(), request)

    async def JoinTable(
        self, request: lobby_pb2.JoinTableRequest, context: Context
    ) -> lobby_pb2.JoinTableResponse:
        """W1, W3."""
        caller = current_identity()
        sitting = await self._engine.take_seat(
            request.table_id,
            request.request_id,
            caller.subject,
            caller.name,
            request.seat if request.HasField("seat") else None,
        )
        await self._forget_ticket(caller.subject)
        return lobby_pb2.JoinTableResponse(seat=sitting.seat)

    async def LeaveTable(
        self, request: lobby_pb2.LeaveTableRequest, context: Context
    ) -> lobby_pb2.LeaveTableResponse:
        """W2, M1."""
        await self._engine.leave_seat(request.table_id, request.request_id, _authorization(context))
        return lobby_pb2.LeaveTableResponse()

    async def EnqueueTicket(
        self, request: lobby_pb2.EnqueueTicketRequest, context: Context
    ) -> lobby_pb2.EnqueueTicketResponse:
        """One live ticket a player; who sits already is led back (W3)."""
        caller = current_identity()
        terms = terms_from(request.terms)
        terms.check(BotLevel.NORMAL)
        sitting = await self._engine.where_is(_authorization(context))
        if sitting is None:
            ticket = await self._tickets.enqueue(
                caller.subject, caller.name, secrets.token_hex(12), terms
            )
        else:
            now_ms = self._clock.now_ms()
            ticket = Ticket("", terms, TicketState.SEATED, now_ms, sitting.table_id, sitting.seat)
        return lobby_pb2.EnqueueTicketResponse(ticket=ticket_to(ticket))

    async def GetTicket(
        self, request: lobby_pb2.GetTicketRequest, context: Context
    ) -> lobby_pb2.GetTicketResponse:
        """The newest ticket, kept alive."""
        ticket = await self._tickets.touch(current_identity().subject)
        return lobby_pb2.GetTicketResponse(ticket=ticket_to(ticket))

    async def WatchTicket(
        self, request: lobby_pb2.WatchTicketRequest, context: Context
    ) -> AsyncIterator[lobby_pb2.WatchTicketResponse]:
        """The newest ticket at each change, kept alive, until it is over or the token ends."""
        caller = current_identity()
        shown: Ticket | None = None
        while True:
            ticket = await self._tickets.touch(caller.subject)
            if ticket != shown:
                yield lobby_pb2.WatchTicketResponse(ticket=ticket_to(ticket))
                shown = ticket
            if not ticket.state.is_live:
                return
            if self._is_stopping:
                raise LobbyStopping("this replica stops: watch again")
            if self._clock.now_ms() >= caller.expires_ms:
                raise TokenExpired("the token has expired: watch again with a new one")
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + WATCH_MS)

    async def CancelTicket(
        self, request: lobby_pb2.CancelTicketRequest, context: Context
    ) -> lobby_pb2.CancelTicketResponse:
        """No live ticket any more, unless its player is being seated."""
        try:
            ticket = await self._tickets.cancel(current_identity().subject)
        except TicketNotFound:
            return lobby_pb2.CancelTicketResponse()
        return lobby_pb2.CancelTicketResponse(ticket=ticket_to(ticket))

    async def _forget_ticket(self, player: str) -> None:
        """Who sits down by itself no longer waits; the engine would refuse a second seat."""
        try:
            await self._tickets.cancel(player)
        except (TicketNotFound, TicketBeingSeated, QuickMatchUnavailable):
            return


def _authorization(context: Context) -> str:
    """The caller's own ``authorization`` metadata; the call was let in, so it is there."""
    for key, value in context.invocation_metadata() or ():
        if key == AUTHORIZATION and isinstance(value, str):
            return value
    raise LookupError("an authenticated call carries 'authorization' metadata")
