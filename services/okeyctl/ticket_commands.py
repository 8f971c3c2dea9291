"""``okeyctl tickets``: who waits for a quick match, and taking a ticket back."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Final

import typer
from google.protobuf.json_format import MessageToDict
from rich.table import Table

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2, operator_pb2, operator_pb2_grpc
from services.okeyctl.asking import TIMEOUT_S, ask
from services.okeyctl.connecting import calls
from services.okeyctl.ending import Output
from services.okeyctl.options import Player
from services.okeyctl.reach import Reach

_STUB: Final = operator_pb2_grpc.LobbyOperatorServiceStub
_PAGE: Final = 500

app = typer.Typer(
    help="See who waits for a quick match, and for what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON list of tickets.")]


@app.command("list")
@calls("lobby")
def list_tickets(
    way: Reach,
    limit: Annotated[int, typer.Option(min=1, help="So many, the longest waiting ones.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List the tickets that wait, in order of arrival."""
    found = ask(way, _STUB, lambda stub: _longest_waiting(stub, limit))
    _print(found, as_json)


@app.command()
@calls("lobby")
def show(way: Reach, player: Player, as_json: AsJson = False) -> None:
    """Show a player's newest ticket, waiting or over.

    Looking does not keep it alive.
    """
    request = operator_pb2.ShowTicketRequest(player=player)
    found = ask(way, _STUB, lambda stub: stub.ShowTicket(request, timeout=TIMEOUT_S))
    _print([found.ticket], as_json)


@app.command()
@calls("lobby")
def cancel(way: Reach, player: Player, as_json: AsJson = False) -> None:
    """Take a player out of quick match.

    A ticket that is over stays as it is.
    """
    request = operator_pb2.WithdrawTicketRequest(player=player)
    ended = ask(way, _STUB, lambda stub: stub.WithdrawTicket(request, timeout=TIMEOUT_S))
    if as_json:
        _print([ended.ticket], as_json)
    else:
        ticket = ended.ticket.ticket
        print(f"ticket {ticket.ticket_id} of {player} is {_state(ticket)}")


async def _longest_waiting(
    stub: operator_pb2_grpc.LobbyOperatorServiceStub, limit: int
) -> list[operator_pb2.PlayerTicket]:
    found: list[operator_pb2.PlayerTicket] = []
    async for page in _pages(stub, min(limit, _PAGE)):
        found += islice(page.tickets, limit - len(found))
        if len(found) == limit:
            break
    return found


async def _pages(
    stub: operator_pb2_grpc.LobbyOperatorServiceStub, size: int
) -> AsyncIterator[operator_pb2.ListTicketsResponse]:
    request = operator_pb2.ListTicketsRequest(page_size=size)
    while True:
        page = await stub.ListTickets(request, timeout=TIMEOUT_S)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token


def _print(found: list[operator_pb2.PlayerTicket], as_json: bool) -> None:
    if as_json:
        documents = [MessageToDict(each, preserving_proto_field_name=True) for each in found]
        print(json.dumps(documents, indent=2))
        return
    sheet = Table("player", "state", "for", "rating", "window", "since (UTC)", "table", "ticket")
    for each in found:
        ticket = each.ticket
        since = datetime.fromtimestamp(ticket.enqueued_ms / 1_000, UTC)
        window = f"± {ticket.rating_window}" if ticket.rating_window else "all"
        sheet.add_row(
            each.player,
            _state(ticket) + (f" ({ticket.reason})" if ticket.reason else ""),
            _terms(ticket.terms) + (", with a partner" if ticket.has_partner else ""),
            f"{each.rating_milli / 1_000:.0f}",
            window,
            f"{since:%H:%M:%S}",
            ticket.table_id,
            ticket.ticket_id,
        )
    output = Output()
    output.print(sheet if found else "nobody waits")


def _state(ticket: lobby_pb2.Ticket) -> str:
    return lobby_pb2.TicketState.Name(ticket.state).removeprefix("TICKET_STATE_")


def _terms(terms: lobby_pb2.TableTerms) -> str:
    variant = common_pb2.Variant.Name(terms.variant).removeprefix("VARIANT_").lower()
    mode = common_pb2.Mode.Name(terms.mode).removeprefix("MODE_").lower()
    return (
        f"{variant} {mode}, {terms.seat_count} seats, {terms.stake} chips, "
        f"{terms.turn_timeout_ms // 1_000} s"
    )
