"""Who sits and asks for another match: led back, or over to the new one without losing both."""

import asyncio

import pytest
from redis import Redis

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from services.lobby.ticket_scripts import PREFIX, ticket_key
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fake_engine import Away, MatchRunning, Table
from tests.integration.lobby.small_lobby import Lobby, failure_of, watched

OPEN = "w" * 26
TWO = lobby_pb2.TableTerms(seat_count=2)
FOR_FOUR = lobby_pb2.TableTerms(seat_count=4, stake=500)
FOR_TWO = engine_pb2.OpenTableRequest(
    variant=common_pb2.VARIANT_CANAK,
    mode=common_pb2.MODE_NORMAL,
    seat_count=2,
    stake=70,
    turn_timeout_ms=15_000,
)
CREATE = lobby_pb2.CreateTableRequest(request_id="create-ada-1", terms=TWO)
JOIN = lobby_pb2.JoinTableRequest(table_id=OPEN, request_id="join-ada-1")
Enqueue = lobby_pb2.EnqueueTicketRequest
WAITING, SEATED = lobby_pb2.TICKET_STATE_WAITING, lobby_pb2.TICKET_STATE_SEATED
Legal = table_pb2.LegalAction


async def enqueue(stub: lobby_pb2_grpc.LobbyServiceStub, request: Enqueue) -> lobby_pb2.Ticket:
    return (await stub.EnqueueTicket(request)).ticket


async def ticket_of(lobby: Lobby, player: str) -> lobby_pb2.Ticket:
    stub = lobby.player(player)
    return (await stub.GetTicket(lobby_pb2.GetTicketRequest())).ticket


def left_over(lobby: Lobby, **change: object) -> Table:
    """A table where ada's match is over, or as the test says."""
    table = lobby.engine.put(OPEN, FOR_TWO, ada=1)
    table.phase = table_pb2.PHASE_NACHSPIEL
    table.legal_actions = [Legal.LEGAL_ACTION_LEAVE]
    table.deciding = {"ada"}
    for name, value in change.items():
        setattr(table, name, value)
    return table


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"phase": table_pb2.PHASE_SETTLING, "deciding": set()},
        {"phase": table_pb2.PHASE_PLAYING, "deciding": set()},
    ],
    ids=["deciding", "settling", "out of the tie-break"],
)
async def test_who_is_done_and_looks_for_a_new_match_is_not_put_back(
    lobby: Lobby, change: dict[str, object]
) -> None:
    """Ç9, K6: asking for another match leaves the one that is over."""
    table = left_over(lobby, **change)
    ticket = await enqueue(lobby.player("ada"), Enqueue(terms=TWO))
    assert ticket.state == WAITING
    assert table.players == {}


@pytest.mark.parametrize(
    "change",
    [
        {"phase": table_pb2.PHASE_PLAYING, "legal_actions": [], "deciding": set()},
        {"phase": table_pb2.PHASE_WAITING, "deciding": set()},
        {"deciding": set()},
        {"phase": table_pb2.PHASE_STARTING, "deciding": set()},
    ],
    ids=["playing", "waiting", "paid for the next", "starting"],
)
async def test_who_is_bound_to_a_match_is_led_back(lobby: Lobby, change: dict[str, object]) -> None:
    """W3: a player of a running match, or of one it has paid for, is led back to it."""
    table = left_over(lobby, **change)
    ticket = await enqueue(lobby.player("ada"), Enqueue(terms=TWO))
    assert (ticket.state, ticket.table_id, ticket.seat) == (SEATED, OPEN, 1)
    assert table.players == {1: "ada"}


@pytest.mark.parametrize(
    "wish",
    [Enqueue(party_code="0" * 20), Enqueue(), Enqueue(terms=FOR_FOUR)],
    ids=["a partner's code", "defaults", "other terms"],
)
async def test_who_is_led_back_is_told_what_that_table_plays(lobby: Lobby, wish: Enqueue) -> None:
    """W3: whatever the wish says; with a partner's code it says nothing of its own."""
    lobby.engine.put(OPEN, FOR_TWO, ada=1)
    ticket = await enqueue(lobby.player("ada"), wish)
    assert (ticket.state, ticket.table_id) == (SEATED, OPEN)
    assert ticket.terms == lobby_pb2.TableTerms(
        variant=common_pb2.VARIANT_CANAK,
        mode=common_pb2.MODE_NORMAL,
        seat_count=2,
        stake=70,
        turn_timeout_ms=15_000,
    )


async def nothing() -> None:
    """A look at which nothing else happens."""


async def test_who_sits_down_while_the_ticket_is_handed_in_is_led_there_and_waits_no_longer(
    lobby: Lobby,
) -> None:
    """W3: by the same player's other window; nobody looked for a ticket after the seat."""
    table = lobby.engine.put(OPEN, FOR_TWO, bo=0)

    async def sit_down_elsewhere() -> None:
        table.players[1] = "ada"

    lobby.engine.before_looks["ada"] += [nothing, sit_down_elsewhere]
    answered = await enqueue(lobby.player("ada"), Enqueue(terms=FOR_FOUR))
    assert (answered.state, answered.table_id, answered.seat) == (SEATED, OPEN, 1)
    assert answered.terms.seat_count == 2
    assert (await ticket_of(lobby, "ada")).state == lobby_pb2.TICKET_STATE_CANCELLED


async def test_a_seat_that_came_from_the_ticket_itself_ends_nothing(lobby: Lobby) -> None:
    """The match was found before the handing in was answered."""
    await enqueue(lobby.player("ada"), Enqueue(terms=TWO))

    async def be_matched() -> None:
        await watched(lobby.player("bo", replica=1))

    lobby.engine.before_looks["bo"] += [nothing, be_matched]
    answered = await enqueue(lobby.player("bo"), Enqueue(terms=TWO))
    assert (answered.state, answered.ticket_id != "") == (SEATED, True)
    assert answered == await ticket_of(lobby, "bo")
    assert lobby.engine.sitting() == [["ada", "bo"]]


async def refused(lobby: Lobby, request: Enqueue, reason: str) -> None:
    failure = await failure_of(lobby.player("ada").EnqueueTicket(request))
    assert failure.reason == reason


async def test_a_seat_is_kept_where_redis_takes_no_ticket(lobby: Lobby, valkey: Valkey) -> None:
    table = left_over(lobby)
    valkey.kill()
    await refused(lobby, Enqueue(terms=TWO), "QUICK_MATCH_UNAVAILABLE")
    assert table.players == {1: "ada"}


async def test_a_seat_is_kept_where_nobody_waits_for_the_partner(lobby: Lobby) -> None:
    table = left_over(lobby)
    await refused(lobby, Enqueue(party_code="0" * 20), "PARTY_NOT_FOUND")
    assert table.players == {1: "ada"}


async def test_a_seat_is_kept_where_another_ticket_is_live(lobby: Lobby) -> None:
    await enqueue(lobby.player("ada"), Enqueue())
    table = left_over(lobby)
    await refused(lobby, Enqueue(terms=TWO), "TICKET_EXISTS")
    assert table.players == {1: "ada"}


async def test_whose_next_match_has_begun_meanwhile_is_led_back_and_waits_no_longer(
    lobby: Lobby,
) -> None:
    """Another window of the player has paid for it in the same moment."""
    table = left_over(lobby)
    lobby.engine.leaving_fails = MatchRunning("ada plays")
    ticket = await enqueue(lobby.player("ada"), Enqueue(terms=TWO))
    assert (ticket.state, ticket.table_id, ticket.seat) == (SEATED, OPEN, 1)
    assert table.players == {1: "ada"}
    assert (await ticket_of(lobby, "ada")).state == lobby_pb2.TICKET_STATE_CANCELLED


async def test_a_ticket_is_there_where_nobody_knows_about_the_seat(lobby: Lobby) -> None:
    """The engine gives no answer about leaving: the ticket is kept, and asking again goes on."""
    table = left_over(lobby)
    lobby.engine.leaving_fails = Away("away")
    await refused(lobby, Enqueue(terms=TWO), "DATABASE_UNAVAILABLE")
    kept = await ticket_of(lobby, "ada")
    assert (kept.state, table.players) == (WAITING, {1: "ada"})
    lobby.engine.leaving_fails = None
    again = await enqueue(lobby.player("ada"), Enqueue(terms=TWO))
    assert (again.ticket_id, table.players) == (kept.ticket_id, {})
    await enqueue(lobby.player("bo"), Enqueue(terms=TWO))
    assert (await watched(lobby.player("ada")))[-1].table_id not in ("", OPEN)


async def test_nobody_is_matched_before_the_old_seat_is_given_up(lobby: Lobby) -> None:
    """One who looks for a new game is not put back into the old one: others go first meanwhile."""
    table = left_over(lobby)
    lobby.engine.may_leave.clear()
    asking = asyncio.create_task(enqueue(lobby.player("ada"), Enqueue(terms=TWO)))
    await lobby.engine.is_leaving.wait()
    assert (await ticket_of(lobby, "ada")).state == WAITING
    for name in ("bo", "cem"):
        await enqueue(lobby.player(name), Enqueue(terms=TWO))
    bo = (await watched(lobby.player("bo")))[-1]
    assert sorted(lobby.engine.tables[bo.table_id].players.values()) == ["bo", "cem"]
    assert ((await ticket_of(lobby, "ada")).state, table.players) == (WAITING, {1: "ada"})
    lobby.engine.may_leave.set()
    assert (await asking).state == WAITING
    await enqueue(lobby.player("deniz"), Enqueue(terms=TWO))
    ada = (await watched(lobby.player("ada")))[-1]
    assert sorted(lobby.engine.tables[ada.table_id].players.values()) == ["ada", "deniz"]


@pytest.mark.parametrize("times", [0, 1], ids=["before", "while the ticket is handed in"])
async def test_whose_id_is_closed_has_no_ticket(lobby: Lobby, valkey: Valkey, times: int) -> None:
    """W3: an erasure that has looked for a ticket already leaves none behind, nor the name."""
    lobby.engine.closing["ada"] = times
    await refused(lobby, Enqueue(terms=TWO), "PLAYER_CLOSED")
    with Redis.from_url(valkey.url.get_secret_value()) as redis:
        assert redis.hmget(ticket_key("ada"), "name", "state")[0] is None
        assert redis.zscore(f"{PREFIX}live", "ada") is None


async def sit_down(lobby: Lobby, how: str) -> str:
    """Ada makes or joins a table, always by the same request; which table."""
    if how == "making":
        return (await lobby.player("ada").CreateTable(CREATE)).table_id
    await lobby.player("ada").JoinTable(JOIN)
    return OPEN


@pytest.mark.parametrize("how", ["making", "joining"])
async def test_a_request_that_comes_again_late_ends_no_ticket_handed_in_since(
    lobby: Lobby, how: str
) -> None:
    """The same request is answered as before, but its seat was left, and nobody sits down."""
    lobby.engine.put(OPEN, FOR_TWO, bo=1)
    table_id = await sit_down(lobby, how)
    leave = lobby_pb2.LeaveTableRequest(table_id=table_id, request_id="leave-ada-1")
    await lobby.player("ada").LeaveTable(leave)
    await enqueue(lobby.player("ada"), Enqueue())
    assert await sit_down(lobby, how) == table_id
    assert (await ticket_of(lobby, "ada")).state == WAITING


@pytest.mark.parametrize("how", ["making", "joining"])
async def test_who_sits_down_waits_no_longer_where_the_engine_says_nothing_more(
    lobby: Lobby, how: str
) -> None:
    """W3: it has just given the seat."""
    lobby.engine.put(OPEN, FOR_TWO, bo=1)
    await enqueue(lobby.player("ada"), Enqueue())
    lobby.engine.whereabouts_are_lost = True
    await sit_down(lobby, how)
    assert (await ticket_of(lobby, "ada")).state == lobby_pb2.TICKET_STATE_CANCELLED
