"""Quick match as players and operators meet it: over gRPC, with tokens, on two replicas."""

import asyncio

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc, operator_pb2
from okey_runtime.identity import Role
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fake_engine import InsufficientFunds
from tests.integration.lobby.small_lobby import Lobby, failure_of, watched

TWO = lobby_pb2.TableTerms(seat_count=2)
ESLI = lobby_pb2.TableTerms(mode=common_pb2.MODE_ESLI)
Enqueue = lobby_pb2.EnqueueTicketRequest
WAITING, SEATED = lobby_pb2.TICKET_STATE_WAITING, lobby_pb2.TICKET_STATE_SEATED


async def enqueue(stub: lobby_pb2_grpc.LobbyServiceStub, request: Enqueue) -> lobby_pb2.Ticket:
    return (await stub.EnqueueTicket(request)).ticket


async def test_a_waiting_ticket_tells_where_it_stands(lobby: Lobby) -> None:
    """An honest state: how many wait, how far its window reaches, no estimate without a reason."""
    ticket = await enqueue(lobby.player("ada"), Enqueue(house_fill_after_ms=60_000))
    assert (ticket.state, ticket.waiting_count) == (WAITING, 1)
    assert (ticket.rating_window, ticket.typical_wait_ms) == (100, 0)
    assert (ticket.house_fill_after_ms, ticket.has_partner, ticket.party_code) == (
        60_000,
        False,
        "",
    )


async def test_far_ratings_do_not_meet_at_once(lobby: Lobby) -> None:
    lobby.rating.ratings = {"ada": 900_000, "bo": 2_100_000, "cem": 940_000}
    for name in ("ada", "bo", "cem"):
        await enqueue(lobby.player(name), Enqueue(terms=TWO))
    assert (await watched(lobby.player("ada")))[-1].state == SEATED
    assert lobby.engine.sitting() == [["ada", "cem"]]
    assert (
        await lobby.player("bo").GetTicket(lobby_pb2.GetTicketRequest())
    ).ticket.state == WAITING


async def test_matches_go_on_without_the_rating_service(lobby: Lobby) -> None:
    lobby.rating.is_away = True
    for name in ("ada", "bo"):
        await enqueue(lobby.player(name), Enqueue(terms=TWO))
    assert (await watched(lobby.player("bo")))[-1].state == SEATED


async def test_having_no_ticket_is_no_error_for_who_says_so(lobby: Lobby) -> None:
    """A page that comes to the lobby asks each time; others still get TICKET_NOT_FOUND."""
    ada = lobby.player("ada")
    may_be_none = lobby_pb2.GetTicketRequest(may_be_none=True)
    assert not (await ada.GetTicket(may_be_none)).HasField("ticket")
    failure = await failure_of(ada.GetTicket(lobby_pb2.GetTicketRequest()))
    assert failure.reason == "TICKET_NOT_FOUND"
    ticket = await enqueue(ada, Enqueue(terms=TWO))
    assert (await ada.GetTicket(may_be_none)).ticket.ticket_id == ticket.ticket_id


async def test_a_party_code_is_read_however_it_is_typed(lobby: Lobby) -> None:
    code = (await enqueue(lobby.player("ada"), Enqueue(terms=ESLI, open_party=True))).party_code
    typed = f"\u00a0{code[:10].upper()}\u2013{code[10:]}\n"
    joined = await enqueue(lobby.player("bo"), Enqueue(party_code=typed))
    assert (joined.state, joined.has_partner) == (WAITING, True)


async def test_a_slip_in_a_party_code_is_told_and_not_counted(lobby: Lobby) -> None:
    """More often than a player may ask for a match; then the right code is taken."""
    code = (await enqueue(lobby.player("ada"), Enqueue(terms=ESLI, open_party=True))).party_code
    bo = lobby.player("bo")
    for _ in range(40):
        for slip in (code[1:], code + "0", "g" + code[1:], " \n"):
            failure = await failure_of(bo.EnqueueTicket(Enqueue(party_code=slip)))
            assert failure.reason == "INVALID_FIELD"
            assert [each.field for each in failure.violations] == ["party_code"]
            assert "20 digits and letters from a to f" in failure.message
    assert (await enqueue(bo, Enqueue(party_code=code))).has_partner


async def test_a_party_of_two_plays_on_one_side(lobby: Lobby) -> None:
    """O2: the code lets the partner in, through any replica, and partners sit opposite."""
    opened = await enqueue(lobby.player("ada"), Enqueue(terms=ESLI, open_party=True))
    assert opened.state == lobby_pb2.TICKET_STATE_AWAITING_PARTNER
    assert len(opened.party_code) == 20
    joined = await enqueue(lobby.player("bo", replica=1), Enqueue(party_code=opened.party_code))
    assert (joined.state, joined.has_partner, joined.party_code) == (WAITING, True, "")
    assert joined.terms == opened.terms
    for name in ("cem", "deniz"):
        await enqueue(lobby.player(name), Enqueue(terms=ESLI))
    ada, bo = (await watched(lobby.player("ada")))[-1], (await watched(lobby.player("bo")))[-1]
    assert ada.table_id == bo.table_id
    assert abs(ada.seat - bo.seat) == 2
    failure = await failure_of(
        lobby.player("ece").EnqueueTicket(Enqueue(party_code=opened.party_code))
    )
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "PARTY_NOT_FOUND")


@pytest.mark.parametrize(
    "malformed",
    [
        Enqueue(terms=TWO, open_party=True),
        Enqueue(terms=ESLI, party_code="0" * 20),
        Enqueue(party_code="0" * 20, house_fill_after_ms=5_000),
        Enqueue(party_code="guess"),
        Enqueue(house_fill_after_ms=4_999),
        Enqueue(
            terms=lobby_pb2.TableTerms(variant=common_pb2.VARIANT_KLASIK), house_fill_after_ms=5_000
        ),
        Enqueue(terms=lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO)),
    ],
    ids=["party not esli", "code and terms", "code and bots", "no code", "soon", "klasik", "solo"],
)
async def test_a_wish_that_makes_no_sense_is_refused(lobby: Lobby, malformed: Enqueue) -> None:
    failure = await failure_of(lobby.player("ada").EnqueueTicket(malformed))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "INVALID_FIELD",
    )


async def test_who_cannot_pay_is_told_why_and_others_are_seated(lobby: Lobby) -> None:
    """M2: another player's refusal punishes nobody."""
    lobby.engine.refused["bo"] = InsufficientFunds("too few chips")
    for name in ("ada", "bo", "cem"):
        await enqueue(lobby.player(name), Enqueue(terms=TWO))
    bo = (await watched(lobby.player("bo")))[-1]
    assert (bo.state, bo.reason) == (lobby_pb2.TICKET_STATE_DROPPED, "INSUFFICIENT_FUNDS")
    assert (await watched(lobby.player("ada")))[-1].state == SEATED
    assert [table for table in lobby.engine.sitting() if table] == [["ada", "cem"]]


async def test_a_watcher_is_told_that_redis_is_away(lobby: Lobby, valkey: Valkey) -> None:
    ada = lobby.player("ada")
    await enqueue(ada, Enqueue(terms=TWO))
    told = aiter(ada.WatchTicket(lobby_pb2.WatchTicketRequest()))
    assert (await anext(told)).ticket.state == WAITING
    valkey.kill()
    failure = await failure_of(anext(told))
    assert failure.reason == "QUICK_MATCH_UNAVAILABLE"
    valkey.start()
    while failure.reason == "QUICK_MATCH_UNAVAILABLE":  # it is tried again after a moment
        failure = await failure_of(ada.GetTicket(lobby_pb2.GetTicketRequest()))
    assert failure.reason == "TICKET_NOT_FOUND"
    assert (await enqueue(ada, Enqueue(terms=TWO))).state == WAITING


async def test_many_watchers_are_told_each_its_own(lobby: Lobby) -> None:
    names = [f"player{number}" for number in range(8)]
    stubs = [lobby.player(name) for name in names]
    for stub in stubs:
        await enqueue(stub, Enqueue(terms=TWO))
    told = await asyncio.gather(*map(watched, stubs))
    for name, tickets in zip(names, told, strict=True):
        table_id, seat = tickets[-1].table_id, tickets[-1].seat
        assert lobby.engine.tables[table_id].players[seat] == name


async def test_operators_list_show_and_withdraw_tickets(lobby: Lobby) -> None:
    operator = lobby.operator()
    for name, terms in (("ada", ESLI), ("bo", TWO), ("cem", None)):
        await enqueue(lobby.player(name), Enqueue(terms=terms, open_party=terms is ESLI))
    first = await operator.ListTickets(operator_pb2.ListTicketsRequest(page_size=2))
    assert [each.player for each in first.tickets] == ["ada", "bo"]
    assert first.tickets[0].ticket.party_code == ""
    assert first.tickets[0].rating_milli == 1_200_000
    rest = await operator.ListTickets(
        operator_pb2.ListTicketsRequest(page_size=2, page_token=first.next_page_token)
    )
    assert ([each.player for each in rest.tickets], rest.next_page_token) == (["cem"], "")
    ended = await operator.WithdrawTicket(operator_pb2.WithdrawTicketRequest(player="bo"))
    assert (ended.ticket.ticket.state, ended.ticket.ticket.reason) == (
        lobby_pb2.TICKET_STATE_CANCELLED,
        "OPERATOR",
    )
    shown = await operator.ShowTicket(operator_pb2.ShowTicketRequest(player="bo"))
    assert shown.ticket == ended.ticket
    failure = await failure_of(operator.ShowTicket(operator_pb2.ShowTicketRequest(player="eve")))
    assert failure.reason == "TICKET_NOT_FOUND"


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OPERATOR])
async def test_only_operators_see_others_tickets(lobby: Lobby, role: Role) -> None:
    stub = lobby.operator(role)
    for call in (
        stub.ListTickets(operator_pb2.ListTicketsRequest()),
        stub.ShowTicket(operator_pb2.ShowTicketRequest(player="ada")),
        stub.WithdrawTicket(operator_pb2.WithdrawTicketRequest(player="ada")),
    ):
        assert (await failure_of(call)).reason == "ROLE_REFUSED"
