"""``okeyctl player show``: where a player is, over all services."""

import json
from dataclasses import dataclass
from typing import Final

from okey.api.engine.v1 import players_pb2
from okey.api.lobby.v1 import lobby_pb2, operator_pb2
from okey.api.wallet.v1 import wallet_pb2
from services.okeyctl import player_data, ratings
from services.okeyctl.as_json import document_of
from services.okeyctl.player_data import Ways
from services.okeyctl.ratings import Placed
from services.okeyctl.table_text import person_name

_MILLI: Final = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """What each service says; no account where none was ever used, no ticket where none is kept."""

    player: str
    kept: players_pb2.ExportPlayerResponse
    ticket: operator_pb2.PlayerTicket | None
    account: wallet_pb2.GetAccountResponse | None
    ratings: list[Placed]


async def look(ways: Ways, player: str) -> Found:
    """Ask all of them. Raises ``grpc.aio.AioRpcError``."""
    return Found(
        player,
        await player_data.kept_of(ways.engine, player),
        await player_data.ticket_of(ways.lobby, player),
        await player_data.account_of(ways.wallet, player),
        await ratings.fetch(ways.rating, player),
    )


def as_json(found: Found) -> str:
    """One JSON object."""
    account = None if found.account is None else document_of(found.account)
    ticket = None if found.ticket is None else document_of(found.ticket)
    return json.dumps(
        {
            "player_id": found.player,
            "engine": document_of(found.kept),
            "ticket": ticket,
            "account": account,
            "ratings": [ratings.document(each) for each in found.ratings],
        },
        ensure_ascii=False,
    )


def lines(found: Found) -> list[str]:
    """For a person: a line for each thing that there is to know."""
    name = person_name(found.kept.display_name)
    state = "closed for good" if found.kept.is_closed else name or "no name known"
    return [
        f"{found.player}  {state}",
        f"  table   {found.kept.table_id or 'sits nowhere'}",
        f"  ticket  {_ticket(found.ticket)}",
        f"  chips   {_chips(found.account)}",
        *(f"  rating  {_rating(each)}" for each in found.ratings),
    ]


def _ticket(ticket: operator_pb2.PlayerTicket | None) -> str:
    if ticket is None:
        return "none"
    state = lobby_pb2.TicketState.Name(ticket.ticket.state).removeprefix("TICKET_STATE_")
    return f"{ticket.ticket.ticket_id}, {state}"


def _chips(account: wallet_pb2.GetAccountResponse | None) -> str:
    if account is None:
        return "no account yet"
    state = ", closed" if account.closed else ", frozen" if account.frozen else ""
    return f"{account.balance:,}, {account.version} postings{state}"


def _rating(placed: Placed) -> str:
    rating = placed.rating
    text = f"{ratings.ladder_name(rating.ladder)} {rating.rating_milli / _MILLI:.0f}"
    matches = f"{text}, {rating.rated_matches} rated matches"
    if placed.place is None:
        return matches
    return f"{matches}, place {placed.place.entry.rank} of {placed.place.players}"
