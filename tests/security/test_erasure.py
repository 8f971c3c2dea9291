"""A player's data over all services, as ``okeyctl player`` asks for them."""

import json

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from services.okeyctl import player_data
from services.okeyctl.player_data import Ways
from services.okeyctl.reach import Reach
from tests.integration.engine.platform import playing, refused
from tests.security.stand import Everything


def ways(world: Everything) -> Ways:
    token = world.issuer.metadata("op", Role.OPERATOR)
    return Ways(*(Reach(world.address(each), token) for each in ("engine", "wallet", "rating")))


async def erase(world: Everything, player: str) -> list[str]:
    """What each step came to."""
    steps = player_data.erase(ways(world), player, "asked for")
    return [f"{step.service}: {step.outcome}" async for step in steps]


async def refusal(world: Everything, player: str) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as why:
        await erase(world, player)
    return from_rpc_error(why.value).reason


async def join(world: Everything, table_id: str, player: str) -> str:
    """Why the player cannot join."""
    channel = await world.channel(player, to="lobby")
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
    assert [line["kind"] for line in kept["wallet"]["statement"]["postings"]] == [
        "WELCOME",
        "HOLD",
        "VOID_HOLD",
    ]
    unclaimed = await world.balance("house:unclaimed")

    assert await erase(world, "leaver") == [
        "engine: no seat any more, and the name is forgotten",
        "wallet: the account is closed, 10,000 chips are unclaimed",
        "rating: off the boards, 0 places",
    ]

    assert await world.balance("house:unclaimed") == unclaimed + 10_000
    kept = json.loads(player_data.as_json(await player_data.export(ways(world), "leaver")))
    assert kept["engine"] == {"display_name": "", "table_id": "", "is_closed": True}
    assert (kept["wallet"]["account"]["balance"], kept["wallet"]["account"]["closed"]) == (
        "0",
        True,
    )
    open_table = await world.open_table("host")
    assert await join(world, open_table, "leaver") == "PLAYER_CLOSED"
    as_player = await world.channel("leaver", to="wallet")
    own = await wallet_pb2_grpc.WalletServiceStub(as_player).GetAccount(account)
    assert own.balance == 0
    where = await stub.WhereAmI(engine_pb2.WhereAmIRequest())
    assert where.table_id == ""
    assert (await wallet.VerifyLedger(wallet_pb2.VerifyLedgerRequest())).findings == []


async def test_an_erasure_that_broke_off_is_asked_for_again(world: Everything) -> None:
    """M5: each step finds what it did before."""
    async for step in player_data.erase(ways(world), "newcomer", "asked for"):
        assert step.service == "engine"
        break
    assert await erase(world, "newcomer") == [
        "engine: no seat any more, and the name is forgotten (as before)",
        "wallet: the account is closed, 0 chips are unclaimed",
        "rating: off the boards, 0 places",
    ]
    assert [step.endswith("(as before)") for step in await erase(world, "newcomer")] == [True] * 3
