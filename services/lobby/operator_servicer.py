"""LobbyOperatorService: players' tickets, for operators."""

from typing import Final

from okey.api.lobby.v1 import operator_pb2, operator_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.clock import Clock
from okey_runtime.identity import Role, current_identity
from okey_runtime.logging import get_logger
from services.lobby.caller import Context
from services.lobby.ticket import Ticket
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow
from services.lobby.wire import ticket_to

SERVICE: Final = "okey.api.lobby.v1.LobbyOperatorService"

ACCESS: Final = AccessTable.of(
    SERVICE, {name: {Role.OPERATOR} for name in ("ListTickets", "ShowTicket", "WithdrawTicket")}
)

BY_OPERATOR: Final = "OPERATOR"
"""The reason of a ticket that operators took back."""
_PAGE: Final = 100

_log = get_logger(__name__)


class LobbyOperatorServicer(operator_pb2_grpc.LobbyOperatorServiceServicer):
    """Requests were checked for shape and role before they come here."""

    def __init__(self, tickets: TicketStore, window: RatingWindow, clock: Clock) -> None:
        self._tickets = tickets
        self._window = window
        self._clock = clock

    async def ListTickets(
        self, request: operator_pb2.ListTicketsRequest, context: Context
    ) -> operator_pb2.ListTicketsResponse:
        """Live tickets by their place in the order of arrival, which is the page token."""
        size = request.page_size or _PAGE
        found = await self._tickets.list_live(int(request.page_token or 0), size)
        return operator_pb2.ListTicketsResponse(
            tickets=[self._shown(ticket) for _, ticket in found],
            next_page_token=str(found[-1][0]) if len(found) == size else "",
        )

    async def ShowTicket(
        self, request: operator_pb2.ShowTicketRequest, context: Context
    ) -> operator_pb2.ShowTicketResponse:
        """The newest ticket, not kept alive by that."""
        ticket = await self._tickets.look(request.player)
        return operator_pb2.ShowTicketResponse(ticket=self._shown(ticket))

    async def WithdrawTicket(
        self, request: operator_pb2.WithdrawTicketRequest, context: Context
    ) -> operator_pb2.WithdrawTicketResponse:
        """Take a waiting ticket back."""
        ticket = await self._tickets.cancel(request.player, BY_OPERATOR)
        operator = current_identity().subject
        _log.info("ticket_withdrawn", player_id=request.player, operator=operator)
        return operator_pb2.WithdrawTicketResponse(ticket=self._shown(ticket))

    def _shown(self, ticket: Ticket) -> operator_pb2.PlayerTicket:
        message = ticket_to(ticket, self._window, self._clock.now_ms())
        message.party_code = ""
        return operator_pb2.PlayerTicket(
            player=ticket.player,
            ticket=message,
            rating_milli=ticket.rating_milli,
            display_name=ticket.display_name,
        )
