"""A player's data over all services: exported, and erased step by step.

Each step may be repeated and finds what it did before, so an erasure that broke off is simply asked
for again.
"""

import json
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Final, TypeVar

import grpc

from okey.api.engine.v1 import players_pb2, players_pb2_grpc
from okey.api.lobby.v1 import operator_pb2, operator_pb2_grpc
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import player_account
from okey.rating import Ladder
from okey_runtime.erasable import refuse_unknown
from okey_runtime.errors import from_rpc_error
from services.okeyctl import ratings, statement
from services.okeyctl.as_json import Document, document_of
from services.okeyctl.reach import Reach
from services.okeyctl.statement import Statement

_TIMEOUT_S: Final = 30.0
_ALL: Final = 2**31 - 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ways:
    """How the services that keep something are reached."""

    lobby: Reach
    engine: Reach
    wallet: Reach
    rating: Reach


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of an erasure came to, in words."""

    service: str
    outcome: str


async def export(ways: Ways, player: str) -> Document:
    """What the platform keeps of the player; of its matches the tables, whose rows hold the moves
    of everybody there.
    """
    kept = await kept_of(ways.engine, player)
    ticket = await ticket_of(ways.lobby, player)
    account = await account_of(ways.wallet, player)
    stated = await statement.fetch(ways.wallet, player_account(player), 0, 0) if account else None
    found = await ratings.fetch(ways.rating, player)
    return {
        "player_id": player,
        "tables": _tables(stated),
        "lobby": {"ticket": None if ticket is None else document_of(ticket)},
        "engine": document_of(kept),
        "wallet": None if account is None or stated is None else _chips(account, stated),
        "rating": {
            "ladders": [ratings.document(each) for each in found],
            "history": {
                ladder.name.lower(): [
                    ratings.change_document(change)
                    for change in await ratings.fetch_history(
                        ways.rating, player, rating_pb2.Ladder.ValueType(ladder), _ALL
                    )
                ]
                for ladder in Ladder
            },
        },
    }


async def chips_at_stake(ways: Ways, player: str, *, allow_unknown: bool) -> int:
    """How many chips an erasure would leave to nobody; asked first, so that nothing is begun in
    vain.

    Raises ``grpc.aio.AioRpcError`` where the wallet would refuse it, and ``PlayerUnknown`` where no
    service has seen the player.
    """
    is_known = allow_unknown or await _is_known(ways, player)
    asked = wallet_pb2.ErasePlayerRequest(
        player_id=player, reason="asked first", check_only=True, allow_unknown=True
    )
    would_be = await _wallet(ways.wallet, asked)
    refuse_unknown(player, is_known=is_known, is_allowed=allow_unknown)
    return would_be.unclaimed


async def erase(ways: Ways, player: str, reason: str) -> AsyncIterator[Step]:
    """Close the id for good, step by step; raises ``grpc.aio.AioRpcError`` at the first that is
    refused. ``chips_at_stake`` comes before it.

    The engine closes the id first: from there on nothing new can be held.
    """
    async with ways.engine.open() as channel:
        engine = players_pb2_grpc.PlayerDataServiceStub(channel)
        close = players_pb2.ErasePlayerRequest(player_id=player, reason=reason, allow_unknown=True)
        closed = await engine.ErasePlayer(close, timeout=_TIMEOUT_S)
    yield Step("engine", _said(closed.changed, "no seat any more, and the name is forgotten"))
    yield Step("lobby", await _withoutticket_of(ways.lobby, player))
    asked = wallet_pb2.ErasePlayerRequest(player_id=player, reason=reason, allow_unknown=True)
    emptied = await _wallet(ways.wallet, asked)
    chips = f"the account is closed, {emptied.unclaimed:,} chips are unclaimed"
    yield Step("wallet", _said(emptied.changed, chips))
    async with ways.rating.open() as channel:
        rating = rating_pb2_grpc.RatingServiceStub(channel)
        unlist = rating_pb2.ErasePlayerRequest(player_id=player, reason=reason, allow_unknown=True)
        erased = await rating.ErasePlayer(unlist, timeout=_TIMEOUT_S)
    yield Step("rating", _said(erased.changed, f"off the boards, {erased.places} places"))


async def _is_known(ways: Ways, player: str) -> bool:
    """Whether any service has seen the player."""
    if (await kept_of(ways.engine, player)).is_known:
        return True
    found = await ratings.fetch(ways.rating, player)
    if any(each.rating.rated_matches for each in found):
        return True
    if await account_of(ways.wallet, player) is not None:
        return True
    return await ticket_of(ways.lobby, player) is not None


async def kept_of(way: Reach, player: str) -> players_pb2.ExportPlayerResponse:
    """What the engine keeps of the player: name, table, whether the id is closed."""
    async with way.open() as channel:
        stub = players_pb2_grpc.PlayerDataServiceStub(channel)
        asked = players_pb2.ExportPlayerRequest(player_id=player)
        return await stub.ExportPlayer(asked, timeout=_TIMEOUT_S)


async def _withoutticket_of(way: Reach, player: str) -> str:
    """Take a waiting ticket back, which has the player's name."""
    async with way.open() as channel:
        stub = operator_pb2_grpc.LobbyOperatorServiceStub(channel)
        asked = operator_pb2.WithdrawTicketRequest(player=player)
        await _unless("TICKET_NOT_FOUND", stub.WithdrawTicket(asked, timeout=_TIMEOUT_S))
    return "no ticket waits"


def as_json(document: Document) -> str:
    """The export as a person keeps it."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def _said(changed: bool, outcome: str) -> str:
    return outcome if changed else f"{outcome} (as before)"


async def _wallet(
    way: Reach, asked: wallet_pb2.ErasePlayerRequest
) -> wallet_pb2.ErasePlayerResponse:
    async with way.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        return await stub.ErasePlayer(asked, timeout=_TIMEOUT_S)


async def account_of(way: Reach, player: str) -> wallet_pb2.GetAccountResponse | None:
    """The player's account; None for one that was never used."""
    asked = wallet_pb2.GetAccountRequest(account=player_account(player))
    async with way.open() as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        return await _unless("ACCOUNT_NOT_FOUND", stub.GetAccount(asked, timeout=_TIMEOUT_S))


async def ticket_of(way: Reach, player: str) -> operator_pb2.PlayerTicket | None:
    """The player's newest ticket, while the lobby keeps it; looking does not keep it alive."""
    async with way.open() as channel:
        stub = operator_pb2_grpc.LobbyOperatorServiceStub(channel)
        asked = operator_pb2.ShowTicketRequest(player=player)
        shown = await _unless("TICKET_NOT_FOUND", stub.ShowTicket(asked, timeout=_TIMEOUT_S))
    return None if shown is None else shown.ticket


async def _unless(reason: str, call: Awaitable[T]) -> T | None:
    """What the call answers; None where it is refused because there is nothing."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        if from_rpc_error(error).reason == reason:
            return None
        raise


def _chips(account: wallet_pb2.GetAccountResponse, stated: Statement) -> Document:
    """Account and every posting."""
    return {"account": document_of(account), "statement": json.loads(statement.as_json(stated))}


def _tables(stated: Statement | None) -> list[str]:
    """The tables where the player paid for a seat, in the order of the first time: nobody sits at
    one for nothing.
    """
    postings = stated.postings if stated else ()
    return list(dict.fromkeys(each.table_id for each in postings if each.table_id))
