"""The half of LobbyService that is about quick match; who calls is told by the token."""

import secrets
from collections.abc import AsyncIterator
from typing import Final

from okey.api.lobby.v1 import lobby_pb2
from okey.errors import Unavailable
from okey.rules.variant import BotLevel
from okey_runtime.auth import TokenExpired
from okey_runtime.clock import Clock
from okey_runtime.identity import current_identity
from services.lobby.caller import Context, authorization_of
from services.lobby.engine_tables import EngineTables
from services.lobby.ticket import Ticket, TicketBeingSeated, TicketNotFound, TicketState
from services.lobby.ticket_store import QuickMatchUnavailable, TicketStore
from services.lobby.wire import terms_from, ticket_to

WATCH_MS: Final = 300
"""How often a watched ticket is looked at."""


class LobbyStopping(Unavailable):
    """This replica stops; another one goes on with the stream."""

    reason = "LOBBY_STOPPING"


class TicketServicer:
    """Takes tickets, shows them, and takes them back."""

    def __init__(self, engine: EngineTables, tickets: TicketStore, clock: Clock) -> None:
        self._engine = engine
        self._tickets = tickets
        self._clock = clock
        self._is_stopping = False

    def end_streams(self) -> None:
        """Let every open stream end soon, so that it goes on at another replica."""
        self._is_stopping = True

    async def stop_waiting(self, player: str) -> None:
        """Who sits down by itself no longer waits; the engine would refuse a second seat."""
        try:
            await self._tickets.cancel(player)
        except (TicketNotFound, TicketBeingSeated, QuickMatchUnavailable):
            return

    async def EnqueueTicket(
        self, request: lobby_pb2.EnqueueTicketRequest, context: Context
    ) -> lobby_pb2.EnqueueTicketResponse:
        """One live ticket a player; who sits already is led back (W3)."""
        caller = current_identity()
        terms = terms_from(request.terms)
        terms.check(BotLevel.NORMAL)
        sitting = await self._engine.where_is(authorization_of(context))
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
