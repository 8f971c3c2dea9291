"""The lobby's words as protobuf messages, and back."""

from typing import Final

from okey.api.common.v1 import common_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2
from services.lobby.terms import Terms
from services.lobby.ticket import Ticket, TicketState
from services.lobby.windows import ANYBODY, MILLI, RatingWindow

_STATES: Final = {
    TicketState.WAITING: lobby_pb2.TICKET_STATE_WAITING,
    TicketState.AWAITING_PARTNER: lobby_pb2.TICKET_STATE_AWAITING_PARTNER,
    TicketState.SEATING: lobby_pb2.TICKET_STATE_SEATING,
    TicketState.SEATED: lobby_pb2.TICKET_STATE_SEATED,
    TicketState.CANCELLED: lobby_pb2.TICKET_STATE_CANCELLED,
    TicketState.EXPIRED: lobby_pb2.TICKET_STATE_EXPIRED,
    TicketState.DROPPED: lobby_pb2.TICKET_STATE_DROPPED,
}


def terms_from(message: lobby_pb2.TableTerms | table_pb2.TableConfig) -> Terms:
    """The terms with every default filled in; an open table's settings hold them in full."""
    return Terms.of(
        variant=message.variant,
        mode=message.mode,
        seat_count=message.seat_count,
        stake=message.stake,
        turn_timeout_ms=message.turn_timeout_ms,
        start_points=message.start_points,
    )


def terms_to(terms: Terms) -> lobby_pb2.TableTerms:
    """The terms in full."""
    return lobby_pb2.TableTerms(
        variant=common_pb2.Variant.ValueType(terms.variant),
        mode=common_pb2.Mode.ValueType(terms.mode),
        seat_count=terms.seat_count,
        stake=terms.stake,
        turn_timeout_ms=terms.turn_timeout_ms,
        start_points=terms.start_points,
    )


def ticket_to(ticket: Ticket, window: RatingWindow, now_ms: int) -> lobby_pb2.Ticket:
    """The ticket as its player sees it at that moment."""
    is_waiting = ticket.state is TicketState.AWAITING_PARTNER
    reach = window.reach_milli(0 if is_waiting else now_ms - ticket.since_ms)
    is_bounded = ticket.state.is_live and reach < ANYBODY
    return lobby_pb2.Ticket(
        ticket_id=ticket.ticket_id,
        terms=terms_to(ticket.terms),
        state=_STATES[ticket.state],
        enqueued_ms=ticket.enqueued_ms,
        table_id=ticket.table_id,
        seat=ticket.seat,
        reason=ticket.reason,
        waiting_count=ticket.waiting_count,
        typical_wait_ms=ticket.typical_wait_ms,
        rating_window=reach // MILLI if is_bounded else 0,
        party_code=ticket.party_code if is_waiting else "",
        has_partner=bool(ticket.partner),
        house_fill_after_ms=ticket.house_fill_after_ms,
    )
