"""LobbyService as players meet it: over gRPC, with tokens, a real Valkey, and a small engine."""

import asyncio
from pathlib import Path

import grpc
import pytest
from pydantic import SecretStr

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.config import Environment
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import ServiceTokenMissing
from services.lobby.app import LobbyApp, LobbyNotConfigured
from services.lobby.settings import LobbySettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.small_lobby import Lobby, failure_of, watched

OPEN = "w" * 26
FOR_TWO = engine_pb2.OpenTableRequest(
    variant=common_pb2.VARIANT_CANAK,
    mode=common_pb2.MODE_NORMAL,
    seat_count=2,
    stake=70,
    turn_timeout_ms=15_000,
)
TWO = lobby_pb2.TableTerms(seat_count=2)
SOLO = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, stake=10_001)


def create(
    request_id: str = "request-1", terms: lobby_pb2.TableTerms = TWO, **fields: int
) -> lobby_pb2.CreateTableRequest:
    level = common_pb2.BotLevel.ValueType(fields.get("bot_level", 0))
    return lobby_pb2.CreateTableRequest(
        request_id=request_id,
        terms=terms,
        bot_level=level,
        house_fill_after_ms=fields.get("house_fill_after_ms", 0),
    )


def join(table_id: str = OPEN, seat: int | None = None) -> lobby_pb2.JoinTableRequest:
    return lobby_pb2.JoinTableRequest(table_id=table_id, seat=seat, request_id="request-2")


async def listed(stub: lobby_pb2_grpc.LobbyServiceStub, count: int) -> lobby_pb2.ListTablesResponse:
    """The list once it has that many tables; the lobby renews it all the time."""
    while True:
        try:
            page = await stub.ListTables(lobby_pb2.ListTablesRequest())
        except grpc.aio.AioRpcError as error:
            if from_rpc_error(error).reason != "TABLE_LIST_UNAVAILABLE":
                raise
        else:
            if len(page.tables) == count:
                return page


async def test_a_table_has_the_settings_asked_for_and_its_maker_on_seat_0(lobby: Lobby) -> None:
    """W1, Ç0: who makes a table takes seat 0; what is not named is Çanak."""
    made = await lobby.player("ada").CreateTable(create(house_fill_after_ms=5_000))
    opened = lobby.engine.tables[made.table_id].opened_by
    assert made.seat == 0
    assert (opened.player, opened.display_name) == ("ada", "Ada")
    assert (opened.variant, opened.mode, opened.seat_count) == (1, 1, 2)
    assert (opened.stake, opened.turn_timeout_ms) == (50, 60_000)
    assert (opened.house_fill_after_ms, opened.bot_level) == (5_000, 0)


async def test_the_same_request_makes_one_table(lobby: Lobby) -> None:
    ada = lobby.player("ada")
    first = await ada.CreateTable(create())
    assert (await ada.CreateTable(create())).table_id == first.table_id
    failure = await failure_of(ada.CreateTable(create("request-9")))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "ALREADY_SEATED",
    )
    assert failure.metadata["table_id"] == first.table_id


async def test_a_seat_is_chosen_or_any(lobby: Lobby) -> None:
    """O2: the chosen seat decides who partners whom."""
    lobby.engine.put(OPEN, engine_pb2.OpenTableRequest(seat_count=4), host=1)
    assert (await lobby.player("ada").JoinTable(join(seat=3))).seat == 3
    assert (await lobby.player("bo").JoinTable(join())).seat == 0
    failure = await failure_of(lobby.player("cem").JoinTable(join(seat=3)))
    assert failure.reason == "SEAT_TAKEN"
    assert (await lobby.player("ada").JoinTable(join())).seat == 3
    failure = await failure_of(lobby.player("cem").JoinTable(join("n" * 26)))
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "TABLE_NOT_FOUND")


async def test_who_leaves_is_who_calls(lobby: Lobby) -> None:
    """W2: leaving frees the caller's own seat."""
    table = lobby.engine.put(OPEN, FOR_TWO, ada=0, bo=1)
    await lobby.player("ada").LeaveTable(
        lobby_pb2.LeaveTableRequest(table_id=OPEN, request_id="request-3")
    )
    assert table.players == {1: "bo"}


async def test_solo_asks_the_bot_bank(lobby: Lobby) -> None:
    """M7, O1: solo tables need a bank above its floor; their stake has a limit by level."""
    ada = lobby.player("ada")
    lobby.wallet.bot_bank = -10_000_001
    failure = await failure_of(ada.CreateTable(create(terms=SOLO)))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "BOT_BANK_LOW",
    )
    lobby.wallet.bot_bank = -10_000_000
    failure = await failure_of(ada.CreateTable(create(terms=SOLO, bot_level=1)))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "INVALID_TABLE_CONFIG",
    )
    made = await ada.CreateTable(create(terms=SOLO, bot_level=3))
    assert lobby.engine.tables[made.table_id].opened_by.bot_level == 3


async def test_a_bank_that_was_never_used_holds_nothing(lobby: Lobby) -> None:
    """M7: no posting yet means a balance of 0."""
    await lobby.player("ada").CreateTable(create(terms=SOLO))
    assert len(lobby.engine.tables) == 1


async def test_the_list_shows_the_engines_tables_to_everyone(lobby: Lobby) -> None:
    lobby.engine.page_size = 1
    table = lobby.engine.put(OPEN, FOR_TWO, host=1)
    table.names["host"] = "Host"
    table.kasa = 14
    playing = lobby.engine.put("x" * 26, FOR_TWO, cem=0, deniz=1)
    playing.phase = table_pb2.PHASE_PLAYING
    broken = lobby.engine.put("y" * 26, FOR_TWO)
    broken.is_quarantined = True
    for replica in range(2):
        page = await listed(lobby.player("ada", replica=replica), 2)
        first, second = page.tables
        assert first == lobby_pb2.ListedTable(
            table_id=OPEN,
            terms=lobby_pb2.TableTerms(
                variant=common_pb2.VARIANT_CANAK,
                mode=common_pb2.MODE_NORMAL,
                seat_count=2,
                stake=70,
                turn_timeout_ms=15_000,
            ),
            taken_seats=[lobby_pb2.ListedSeat(seat=1, display_name="Host")],
            is_joinable=True,
            kasa=14,
        )
        assert (second.table_id, second.is_joinable, second.is_playing) == ("x" * 26, False, True)


async def test_quick_match_seats_two_players_of_two_replicas(lobby: Lobby) -> None:
    ada, bo = lobby.player("ada"), lobby.player("bo", replica=1)
    terms = lobby_pb2.EnqueueTicketRequest(terms=TWO)
    ticket = (await ada.EnqueueTicket(terms)).ticket
    assert ticket.state == lobby_pb2.TICKET_STATE_WAITING
    assert (ticket.terms.variant, ticket.terms.stake, ticket.waiting_count) == (1, 50, 1)
    assert (await ada.GetTicket(lobby_pb2.GetTicketRequest())).ticket == ticket
    await bo.EnqueueTicket(terms)
    for stub in (ada, bo):
        last = (await watched(stub))[-1]
        assert last.state == lobby_pb2.TICKET_STATE_SEATED
        assert last.table_id in lobby.engine.tables
    assert lobby.engine.sitting() == [["ada", "bo"]]


async def test_one_live_ticket_a_player(lobby: Lobby) -> None:
    ada = lobby.player("ada")
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    failure = await failure_of(ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest()))
    assert (failure.code, failure.reason) == (grpc.StatusCode.ALREADY_EXISTS, "TICKET_EXISTS")
    differs = failure.metadata.pop("differs")
    assert failure.metadata == {"same_as": "REQUEST_ID_REUSED", "key_name": "player", "key": "ada"}
    assert "seat_count" in differs
    assert differs.replace(",", ", ") in failure.message


async def test_a_watcher_is_told_that_the_ticket_was_taken_back(lobby: Lobby) -> None:
    ada = lobby.player("ada")
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    stream = ada.WatchTicket(lobby_pb2.WatchTicketRequest())
    states = []
    async for message in stream:
        states.append(message.ticket.state)
        if len(states) == 1:
            cancelled = await ada.CancelTicket(lobby_pb2.CancelTicketRequest())
            assert cancelled.ticket.state == lobby_pb2.TICKET_STATE_CANCELLED
    assert states == [lobby_pb2.TICKET_STATE_WAITING, lobby_pb2.TICKET_STATE_CANCELLED]


async def test_without_a_ticket(lobby: Lobby) -> None:
    ada = lobby.player("ada")
    assert not (await ada.CancelTicket(lobby_pb2.CancelTicketRequest())).HasField("ticket")
    failure = await failure_of(ada.GetTicket(lobby_pb2.GetTicketRequest()))
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "TICKET_NOT_FOUND")


async def test_who_sits_is_led_back(lobby: Lobby) -> None:
    """W3: a player of a running match is always led back to it."""
    lobby.engine.put(OPEN, FOR_TWO, ada=1)
    ada = lobby.player("ada")
    ticket = (await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))).ticket
    assert ticket.state == lobby_pb2.TICKET_STATE_SEATED
    assert (ticket.table_id, ticket.seat) == (OPEN, 1)
    failure = await failure_of(ada.GetTicket(lobby_pb2.GetTicketRequest()))
    assert failure.reason == "TICKET_NOT_FOUND"


@pytest.mark.parametrize("by_joining", [True, False])
async def test_who_sits_down_waits_no_longer(lobby: Lobby, by_joining: bool) -> None:
    """W3: one seat a player, so a ticket ends when its player sits down by itself."""
    lobby.engine.put(OPEN, FOR_TWO, host=1)
    ada = lobby.player("ada")
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest())
    await (ada.JoinTable(join()) if by_joining else ada.CreateTable(create()))
    ticket = (await ada.GetTicket(lobby_pb2.GetTicketRequest())).ticket
    assert ticket.state == lobby_pb2.TICKET_STATE_CANCELLED


async def test_a_watch_ends_with_its_token(lobby: Lobby) -> None:
    ada = lobby.player("ada", ttl_ms=1_500)
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    failure = await failure_of(watched(ada))
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")


async def test_a_replica_that_stops_ends_its_streams(lobby: Lobby) -> None:
    """The stop does not wait for its whole grace, and the ticket lives on at another replica."""
    ada = lobby.player("ada")
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    stream = ada.WatchTicket(lobby_pb2.WatchTicketRequest())
    told = aiter(stream)
    assert (await anext(told)).ticket.state == lobby_pb2.TICKET_STATE_WAITING
    async with asyncio.timeout(5):
        await lobby.servers[0].stop()
    failure = await failure_of(anext(told))
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "LOBBY_STOPPING")
    other = lobby.player("ada", replica=1)
    ticket = (await other.GetTicket(lobby_pb2.GetTicketRequest())).ticket
    assert ticket.state == lobby_pb2.TICKET_STATE_WAITING


async def test_without_redis_only_list_and_quick_match_pause(lobby: Lobby, valkey: Valkey) -> None:
    ada = lobby.player("ada")
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    valkey.kill()
    failure = await failure_of(ada.GetTicket(lobby_pb2.GetTicketRequest()))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.UNAVAILABLE,
        "QUICK_MATCH_UNAVAILABLE",
    )
    lobby.engine.put(OPEN, FOR_TWO, host=1)
    assert (await ada.JoinTable(join())).seat == 0
    valkey.start()
    page = await listed(lobby.player("bo"), 1)
    assert page.tables[0].table_id == OPEN


async def test_an_engine_that_is_away_is_told(lobby: Lobby) -> None:
    lobby.engine.is_away = True
    ada = lobby.player("ada")
    failure = await failure_of(ada.CreateTable(create()))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.UNAVAILABLE,
        "DATABASE_UNAVAILABLE",
    )


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PLAYER])
async def test_only_players_may_call(lobby: Lobby, role: Role) -> None:
    stub = lobby.player("someone", role)
    for call in (
        stub.CreateTable(create()),
        stub.JoinTable(join()),
        stub.ListTables(lobby_pb2.ListTablesRequest()),
        stub.EnqueueTicket(lobby_pb2.EnqueueTicketRequest()),
        stub.CancelTicket(lobby_pb2.CancelTicketRequest()),
    ):
        assert (await failure_of(call)).reason == "ROLE_REFUSED"


async def test_does_not_start_without_its_settings(tmp_path: Path) -> None:
    issuer = Issuer(tmp_path)
    settings = LobbySettings(
        environment=Environment.TEST,
        jwks_file=issuer.jwks_file,
        engine_address="127.0.0.1:1",
        wallet_address="127.0.0.1:1",
        rating_address="127.0.0.1:1",
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
    )
    with pytest.raises(ServiceTokenMissing, match="OKEY_SERVICE_TOKEN_DIR"):
        async with ServiceServer(LobbyApp(settings)):
            pass
    no_redis = settings.model_copy(update={"redis_url": None})
    with pytest.raises(LobbyNotConfigured, match="OKEY_REDIS_URL"):
        async with ServiceServer(LobbyApp(no_redis)):
            pass
