"""A player's data over all services, as ``okeyctl player`` asks for them."""

import asyncio
import json
from typing import Any

import grpc
import pytest
from redis import Redis
from typer.testing import CliRunner

from okey.api.engine.v1 import (
    engine_pb2,
    engine_pb2_grpc,
    players_pb2,
    players_pb2_grpc,
    table_pb2,
)
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from services.okeyctl import player_data
from services.okeyctl.app import app
from services.okeyctl.player_data import Ways
from services.okeyctl.reach import Reach
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import playing, refused, until
from tests.security.stand import Everything, balanced

Phase = table_pb2.Phase
SERVICES = ("lobby", "engine", "wallet", "rating")


def ways(world: Everything) -> Ways:
    operator = {each: world.issuer.metadata("op", Role.OPERATOR, to=each) for each in SERVICES}
    return Ways(*(Reach(world.address(each), token) for each, token in operator.items()))


async def erase(world: Everything, player: str, *, allow_unknown: bool = False) -> list[str]:
    """What each step came to, once it was asked whether it may be."""
    await player_data.chips_at_stake(ways(world), player, allow_unknown=allow_unknown)
    steps = player_data.erase(ways(world), player, "asked for")
    return [f"{step.service}: {step.outcome}" async for step in steps]


async def refusal(world: Everything, player: str) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as why:
        await erase(world, player)
    return from_rpc_error(why.value).reason


async def later(world: Everything, player: str, to: str = "") -> grpc.aio.Channel:
    """As the player with a token that was given out after an erasure, which revokes all before."""
    token = world.issuer.token(player, ahead_ms=20_000)
    return await world.channel_with(fixed_token(token), to=to)


async def join(world: Everything, table_id: str, player: str) -> str:
    """Why the player cannot join."""
    channel = await later(world, player, to="lobby")
    request = lobby_pb2.JoinTableRequest(table_id=table_id, request_id=world.request_id())
    return (await refused(lobby_pb2_grpc.LobbyServiceStub(channel).JoinTable(request))).reason


async def test_who_sits_or_plays_is_not_erased(world: Everything) -> None:
    """W3, M1: neither at a table that waits nor in a match; nothing has been begun then."""
    waiting = await world.open_table("sitter")
    assert await refusal(world, "sitter") == "PLAYER_HOLDING"
    table_id, mover, _ = await playing(world)
    assert await refusal(world, mover) == "PLAYER_HOLDING"
    export = await player_data.export(ways(world), mover)
    assert export["engine"] == {
        "display_name": mover.title(),
        "table_id": table_id,
        "is_closed": False,
        "is_known": True,
    }
    operator = await world.operator()
    for each in (waiting, table_id):
        void = engine_pb2.VoidTableRequest(
            table_id=each, reason="over", request_id=world.request_id()
        )
        await operator.VoidTable(void)


async def test_an_erased_player_is_gone_for_good(world: Everything) -> None:
    """W3, M3: name and chips are gone, and the id gets neither a seat nor a second welcome."""
    table_id = await world.open_table("leaver")
    stub = await world.tables_as("leaver")
    leave = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=world.request_id())
    await stub.LeaveSeat(leave)
    wallet = await world.wallet()
    account = wallet_pb2.GetAccountRequest(account="player:leaver")
    while (await wallet.GetAccount(account)).balance != 10_000:
        pass  # the stake is on its way back
    kept = json.loads(player_data.as_json(await player_data.export(ways(world), "leaver")))
    assert kept["engine"]["display_name"] == "Leaver"
    assert kept["tables"] == [table_id]
    assert [line["kind"] for line in kept["wallet"]["statement"]["postings"]] == [
        "WELCOME",
        "HOLD",
        "VOID_HOLD",
    ]
    unclaimed = await world.balance("house:unclaimed")

    assert await erase(world, "leaver") == [
        "engine: no seat any more, and the name is forgotten",
        "lobby: no ticket waits",
        "wallet: the account is closed, 10,000 chips are unclaimed",
        "rating: off the boards, 0 places",
    ]

    assert await world.balance("house:unclaimed") == unclaimed + 10_000
    kept = json.loads(player_data.as_json(await player_data.export(ways(world), "leaver")))
    assert kept["engine"] == {
        "display_name": "",
        "table_id": "",
        "is_closed": True,
        "is_known": True,
    }
    assert (kept["wallet"]["account"]["balance"], kept["wallet"]["account"]["closed"]) == (
        "0",
        True,
    )
    open_table = await world.open_table("host")
    assert await join(world, open_table, "leaver") == "PLAYER_CLOSED"
    as_player = await later(world, "leaver", to="wallet")
    own = await wallet_pb2_grpc.WalletServiceStub(as_player).GetAccount(account)
    assert own.balance == 0
    stub = engine_pb2_grpc.TableServiceStub(await later(world, "leaver"))
    where = stub.WhereAmI(engine_pb2.WhereAmIRequest())
    assert (await refused(where)).reason == "PLAYER_CLOSED"
    assert await enqueue(world, "leaver") == "PLAYER_CLOSED"
    assert (await wallet.VerifyLedger(wallet_pb2.VerifyLedgerRequest())).findings == []


async def test_an_erasure_that_broke_off_is_asked_for_again(world: Everything) -> None:
    """M5: each step finds what it did before."""
    async for step in player_data.erase(ways(world), "newcomer", "asked for"):
        assert step.service == "engine"
        break
    assert await erase(world, "newcomer") == [
        "engine: no seat any more, and the name is forgotten (as before)",
        "lobby: no ticket waits",
        "wallet: the account is closed, 0 chips are unclaimed",
        "rating: off the boards, 0 places",
    ]
    again = [step for step in await erase(world, "newcomer") if not step.startswith("lobby")]
    assert [step.endswith("(as before)") for step in again] == [True] * 3


@pytest.mark.parametrize(
    ("player", "reason"), [("never-seen", "PLAYER_UNKNOWN"), ("house:rake", "PLAYER_RESERVED")]
)
async def test_no_service_erases_who_is_none_of_its_players(
    world: Everything, player: str, reason: str
) -> None:
    """M3: asked by whatever program."""
    engine = players_pb2_grpc.PlayerDataServiceStub(await world.channel("op", Role.OPERATOR))
    wallet, rating, why = await world.wallet(), await world.rating(), "asked for"
    for call in (
        engine.ErasePlayer(players_pb2.ErasePlayerRequest(player_id=player, reason=why)),
        wallet.ErasePlayer(wallet_pb2.ErasePlayerRequest(player_id=player, reason=why)),
        rating.ErasePlayer(rating_pb2.ErasePlayerRequest(player_id=player, reason=why)),
    ):
        assert (await refused(call)).reason == reason


class Command:
    """``okeyctl player erase``, as an operator gives it."""

    def __init__(self, world: Everything) -> None:
        token = world.issuer.service_token_dir(world.folder, Role.OPERATOR)
        self._way = [f"--{each}={world.address(each)}" for each in SERVICES]
        self._way.append(f"--token-file={token}")

    async def __call__(self, player: str, *options: str, says: str = "") -> tuple[int, str]:
        """Status, and all that it said; ``says`` is typed in."""
        arguments = ["player", "erase", player, "--reason=asked for", *options, *self._way]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments, input=says)
        return result.exit_code, result.output


async def test_an_operator_is_asked_first(world: Everything) -> None:
    """M3: only a yes, or --yes, closes the id."""
    erase_player, account = Command(world), wallet_pb2.GetAccountRequest(account="player:asked")
    as_player = await world.channel("asked", to="wallet")
    await wallet_pb2_grpc.WalletServiceStub(as_player).GetAccount(account)
    for says in ("", "n\n", "\n"):
        status, said = await erase_player("asked", says=says)
        assert (status, "nothing was erased" in said) == (2, True), said
        assert "10,000 chips become unclaimed" in said
    assert (await (await world.wallet()).GetAccount(account)).balance == 10_000
    status, said = await erase_player("asked", says="y\n")
    assert (status, "asked is erased" in said) == (0, True), said
    status, said = await erase_player("asked", "--yes")
    assert (status, "for good?" in said, said.count("as before")) == (0, False, 3), said


async def test_an_id_that_nobody_has_seen_is_closed_only_where_that_is_said(
    world: Everything,
) -> None:
    """M3: a slip of the pen closes nothing, and the house is no player whatever is said."""
    erase_player = Command(world)
    status, said = await erase_player("slip-of-the-pen", "--yes")
    assert (status, "nobody has seen" in said) == (2, True), said
    for options in (("--yes",), ("--yes", "--unknown")):
        status, said = await erase_player("house:rake", *options)
        assert (status, "no player's" in said) == (2, True), said
    status, said = await erase_player("slip-of-the-pen", "--yes", "--unknown")
    assert (status, "is erased" in said) == (0, True), said
    assert await join(world, await world.open_table("host-2"), "slip-of-the-pen") == "PLAYER_CLOSED"


async def enqueue(world: Everything, player: str) -> str:
    """Why the player gets no ticket; "" if it waits."""
    stub = lobby_pb2_grpc.LobbyServiceStub(await later(world, player, to="lobby"))
    request = lobby_pb2.EnqueueTicketRequest(terms=lobby_pb2.TableTerms(seat_count=4, stake=100))
    try:
        await stub.EnqueueTicket(request)
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error).reason
    return ""


async def test_who_only_waits_is_known(world: Everything) -> None:
    """M3: an own ticket is enough to be somebody."""
    assert await enqueue(world, "waits-only") == ""
    assert (await erase(world, "waits-only"))[1] == "lobby: no ticket waits"


async def test_no_ticket_outlives_an_erasure_beside_which_it_was_handed_in(
    world: Everything, valkey_server: Valkey
) -> None:
    """W3: a call beside each of its steps; it is refused, or its ticket taken back."""
    player, name = "hurries", b"Inahurry"
    own = fixed_token(world.issuer.token(player, name=name.decode(), ahead_ms=20_000))
    lobby = lobby_pb2_grpc.LobbyServiceStub(await world.channel_with(own, to="lobby"))
    terms = lobby_pb2.TableTerms(seat_count=4, stake=500)

    async def ask() -> str:
        try:
            await lobby.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=terms))
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error).reason
        return ""

    asked = [asyncio.create_task(ask())]
    steps = player_data.erase(ways(world), player, "asked for")
    asked += [asyncio.create_task(ask()) async for _ in steps]
    assert set(await asyncio.gather(*asked)) <= {"", "PLAYER_CLOSED"}
    assert await ask() == "PLAYER_CLOSED"
    ticket = await player_data.ticket_of(ways(world).lobby, player)
    assert ticket is None or ticket.ticket.state == lobby_pb2.TICKET_STATE_CANCELLED
    assert not await asyncio.to_thread(in_redis, valkey_server, name)


async def is_shown(world: Everything, name: bytes, table_id: str, engine: str) -> bool:
    """Whether the table's rows still tell the name to whoever comes back there."""
    stub = await world.tables_as("zoe", at=engine)
    watch = engine_pb2.WatchTableRequest(table_id=table_id, after_seq=1)
    stream: Any = stub.WatchTable(watch)
    seen = (await stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id))).view.seq
    rows = [(await stream.read()).SerializeToString() for _ in range(1, seen)]
    stream.cancel()
    return name in b"".join(rows)


def in_files(world: Everything, name: bytes) -> list[str]:
    """The files of the databases in which the name stands, whatever is around it."""
    files = [path for path in world.folder.iterdir() if ".db" in path.name]
    assert {"engine.db", "wallet.db", "rating.db"} <= {path.name for path in files}
    return sorted(path.name for path in files if name in path.read_bytes())


def in_redis(valkey: Valkey, name: bytes) -> bool:
    with Redis.from_url(valkey.url.get_secret_value()) as redis:
        redis.config_set("rdbcompression", "no")
        return any(name in (redis.dump(key) or b"") for key in redis.keys("*"))


async def sat_at(world: Everything, engine: str, player: str) -> str:
    """A table of that engine at which the player sat for a moment."""
    stub, address = await world.tables_as(player), ""
    while address != engine:
        table_id = await world.open_table(world.request_id(), seat_count=4)
        where = await stub.LocateTable(engine_pb2.LocateTableRequest(table_id=table_id))
        address = where.address
    await world.take_seat(table_id, player)
    leave = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=world.request_id())
    await stub.LeaveSeat(leave)
    return table_id


async def names_of(world: Everything, *players: str) -> dict[str, str]:
    """What a stranger is told in place of the ids."""
    stub = await world.tables_as("zoe")
    request = engine_pb2.GetDisplayNamesRequest(player_ids=players)
    return dict((await stub.GetDisplayNames(request)).display_names)


async def test_the_name_leaves_every_engine_every_file_and_the_lobby(
    world: Everything, valkey_server: Valkey
) -> None:
    """T9: whichever engine had the table; files are looked at byte by byte."""
    second = await world.start_beside("second")
    await balanced(world)
    player, name = "unmistakable", b"Unmistakable"
    table_id = await sat_at(world, second.address, player)
    own = fixed_token(world.issuer.token(player, name=name.decode(), ahead_ms=20_000))
    lobby = lobby_pb2_grpc.LobbyServiceStub(await world.channel_with(own, to="lobby"))
    terms = lobby_pb2.TableTerms(seat_count=4, stake=500)  # no table waits that it could join
    await lobby.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=terms))
    assert await is_shown(world, name, table_id, second.address)
    assert any(file.startswith("engine.db") for file in in_files(world, name))
    assert in_redis(valkey_server, name)
    assert await names_of(world, player) == {player: name.decode()}
    told = json.loads(player_data.as_json(await player_data.export(ways(world), player)))
    assert told["lobby"]["ticket"]["display_name"] == name.decode()
    wallet = await world.wallet()
    account = wallet_pb2.GetAccountRequest(account=f"player:{player}")
    while (await wallet.GetAccount(account)).balance != 10_000:
        pass  # the stake is on its way back

    await erase(world, player)

    ticket = await player_data.ticket_of(ways(world).lobby, player)
    assert ticket is not None
    assert ticket.display_name == ""
    assert not await is_shown(world, name, table_id, second.address)
    assert await names_of(world, player) == {}
    assert in_files(world, name) == []
    async with asyncio.timeout(10):
        while await asyncio.to_thread(in_redis, valkey_server, name):
            pass  # the next list of tables is on its way
    await world.stop_beside("second")


async def test_the_name_leaves_a_closed_table(world: Everything) -> None:
    """T9: it is read on for a while after its end, and names are asked for then, too."""
    player = "passer"
    table_id = await world.open_table(player)
    await world.take_seat(table_id, "companion")
    await until(world, table_id, "zoe", lambda view: view.phase == Phase.PHASE_PLAYING)
    operator = await world.operator()
    await operator.VoidTable(
        engine_pb2.VoidTableRequest(table_id=table_id, reason="over", request_id=world.request_id())
    )

    spectator = await world.tables_as("zoe")

    async def names() -> set[str]:
        shown = await spectator.GetTable(engine_pb2.GetTableRequest(table_id=table_id))
        assert shown.view.phase == Phase.PHASE_CLOSED
        return {seat.display_name for seat in shown.view.seats if seat.player == player}

    assert await names() == {"Passer"}
    wallet = await world.wallet()
    account = wallet_pb2.GetAccountRequest(account=f"player:{player}")
    while (await wallet.GetAccount(account)).balance != 10_000:
        pass  # the stake is on its way back
    await erase(world, player)
    assert await names() == {""}
