"""The half of LobbyService that is about quick match; who calls is told by the token."""

import secrets
import string
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from okey.api.lobby.v1 import lobby_pb2
from okey.rules.variant import BotLevel
from okey_runtime.clock import Clock
from okey_runtime.errors import FieldViolation, InvalidField
from okey_runtime.identity import current_identity
from okey_runtime.interceptors import ends_itself
from okey_runtime.typed_codes import folded
from services.lobby.asking import Asking
from services.lobby.caller import Context, authorization_of
from services.lobby.limits import Kind, Limits
from services.lobby.ticket import Ticket, TicketNotFound, Wish
from services.lobby.ticket_store import TicketStore
from services.lobby.ticket_watch import TicketWatch
from services.lobby.windows import RatingWindow
from services.lobby.wire import terms_from, ticket_to

_CODE_BYTES: Final = 10
"""80 random bits let a partner in."""


@dataclass(frozen=True, slots=True)
class QuickMatch:
    """What the servicer of tickets needs."""

    asking: Asking
    tickets: TicketStore
    watch: TicketWatch
    window: RatingWindow
    clock: Clock


class TicketServicer:
    """Takes tickets, shows them, and takes them back."""

    def __init__(self, quick_match: QuickMatch, limits: Limits) -> None:
        self._quick = quick_match
        self._limits = limits
        self._tickets = quick_match.tickets

    async def EnqueueTicket(
        self, request: lobby_pb2.EnqueueTicketRequest, context: Context
    ) -> lobby_pb2.EnqueueTicketResponse:
        """One live ticket a player; who sits already is led back (W3)."""
        caller = current_identity()
        party_code = _party_code(request)
        await self._limits.count(Kind.ASKING, caller.subject, request)
        terms = terms_from(request.terms)
        terms.check(BotLevel.NORMAL, request.house_fill_after_ms)
        wish = Wish(
            player=caller.subject,
            display_name=caller.name,
            ticket_id=secrets.token_hex(12),
            terms=terms,
            house_fill_after_ms=request.house_fill_after_ms,
            party_code=party_code,
            opens_party=request.open_party,
        )
        ticket = await self._quick.asking.ticket_for(wish, authorization_of(context))
        return lobby_pb2.EnqueueTicketResponse(ticket=self._shown(ticket))

    async def GetTicket(
        self, request: lobby_pb2.GetTicketRequest, context: Context
    ) -> lobby_pb2.GetTicketResponse:
        """The newest ticket, kept alive."""
        try:
            ticket = await self._tickets.touch(current_identity().subject)
        except TicketNotFound:
            if not request.may_be_none:
                raise
            return lobby_pb2.GetTicketResponse()
        return lobby_pb2.GetTicketResponse(ticket=self._shown(ticket))

    @ends_itself
    async def WatchTicket(
        self, request: lobby_pb2.WatchTicketRequest, context: Context
    ) -> AsyncIterator[lobby_pb2.WatchTicketResponse]:
        """The newest ticket at each change, kept alive, until it is over or the token ends."""
        caller = current_identity()
        async for ticket in self._quick.watch.follow(caller):
            yield lobby_pb2.WatchTicketResponse(ticket=self._shown(ticket))

    async def CancelTicket(
        self, request: lobby_pb2.CancelTicketRequest, context: Context
    ) -> lobby_pb2.CancelTicketResponse:
        """No live ticket any more, unless its player is being seated."""
        try:
            ticket = await self._tickets.cancel(current_identity().subject)
        except TicketNotFound:
            return lobby_pb2.CancelTicketResponse()
        return lobby_pb2.CancelTicketResponse(ticket=self._shown(ticket))

    def _shown(self, ticket: Ticket) -> lobby_pb2.Ticket:
        return ticket_to(ticket, self._quick.window, self._quick.clock.now_ms())


def _party_code(request: lobby_pb2.EnqueueTicketRequest) -> str:
    """A new code for who opens a party, the one that was typed for who joins it, else ""."""
    if request.open_party:
        return secrets.token_hex(_CODE_BYTES)
    code = folded(request.party_code).lower()
    fitting = sum(each in string.hexdigits for each in code)
    if request.party_code and not fitting == len(code) == 2 * _CODE_BYTES:
        rule = (
            f"has {2 * _CODE_BYTES} digits and letters from a to f; this one has {fitting} of them "
            f"among {len(request.party_code)} characters"
        )
        raise InvalidField((FieldViolation("party_code", rule),))
    return code
