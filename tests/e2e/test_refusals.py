"""Who is refused, with which code and reason, over real processes."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_client import RpcFailure
from okey_runtime.auth import create_signing_key, mint
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.errors import from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.service_token import fixed_token
from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.match import Seated, Tables

Code = grpc.StatusCode
HOUR_MS = 3_600_000


async def refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str]:
    """Code and reason with which a call is refused."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        failure = from_rpc_error(error)
    except RpcFailure as error:
        failure = error
    else:
        pytest.fail("the call was not refused")
    return failure.code, failure.reason


def channel_to(platform: StartedPlatform, service: str, token: str | None) -> grpc.aio.Channel:
    provider = None if token is None else fixed_token(token)
    return open_channel(platform.state.address(service), token=provider)


@pytest.fixture
async def seated(tables: Tables) -> list[Seated]:
    """Two players in mid-round."""
    return await tables.seat_mid_round()


@pytest.fixture
def bad_tokens(platform: StartedPlatform, tmp_path: Path) -> dict[str, str]:
    foreign_key = create_signing_key(tmp_path / "key.json")
    now_ms = SystemClock().now_ms()
    good = platform.token("mallory")
    return {
        "foreign": mint(
            foreign_key, subject="mallory", roles=[Role.PLAYER], now_ms=now_ms, ttl_ms=HOUR_MS
        ),
        "changed": good[:-8] + ("AAAAAAAA" if good[-8:] != "AAAAAAAA" else "BBBBBBBB"),
        "nonsense": "not.a.token",
        "expired": platform.token("mallory", ttl_ms=-HOUR_MS),
    }


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        (None, "TOKEN_MISSING"),
        ("foreign", "TOKEN_INVALID"),
        ("changed", "TOKEN_INVALID"),
        ("nonsense", "TOKEN_INVALID"),
        ("expired", "TOKEN_EXPIRED"),
    ],
)
async def test_no_service_takes_a_caller_without_a_good_token(
    platform: StartedPlatform, bad_tokens: dict[str, str], which: str | None, reason: str
) -> None:
    token = None if which is None else bad_tokens[which]
    async with (
        channel_to(platform, "lobby", token) as lobby,
        channel_to(platform, "engine", token) as engine,
        channel_to(platform, "wallet", token) as wallet,
    ):
        calls: list[Awaitable[object]] = [
            lobby_pb2_grpc.LobbyServiceStub(lobby).CreateTable(
                lobby_pb2.CreateTableRequest(request_id="request-1")
            ),
            engine_pb2_grpc.TableServiceStub(engine).WhereAmI(engine_pb2.WhereAmIRequest()),
            wallet_pb2_grpc.WalletServiceStub(wallet).GetAccount(
                wallet_pb2.GetAccountRequest(account="player:mallory")
            ),
        ]
        for call in calls:
            assert await refusal(call) == (Code.UNAUTHENTICATED, reason)


async def test_nobody_acts_on_a_seat_of_another(tables: Tables, seated: list[Seated]) -> None:
    """U1, U12: a stranger has no seat; a player out of turn has no move; nothing changes."""
    table_id = seated[0].table.table_id
    before = await seated[0].table.get()
    turn = before.round.turn
    stranger = (await tables.client("stranger")).table(table_id)
    waiting = seated[1 - turn.seat].table
    assert await refusal(stranger.draw_from_stock(turn.number)) == (
        Code.PERMISSION_DENIED,
        "NOT_SEATED",
    )
    assert await refusal(waiting.draw_from_stock(turn.number)) == (
        Code.FAILED_PRECONDITION,
        "NOT_YOUR_TURN",
    )
    assert await refusal(stranger.forfeit()) == (Code.PERMISSION_DENIED, "NOT_SEATED")
    assert (await seated[0].table.get()).seq == before.seq


async def test_a_spectator_cannot_act_on_a_stream_either(
    platform: StartedPlatform, seated: list[Seated]
) -> None:
    """U12: a Play stream of a stranger shows the spectators' view and refuses every move."""
    before = await seated[0].table.get()
    table_id = before.config.table_id
    async with channel_to(platform, "engine", platform.token("stranger")) as channel:
        call = engine_pb2_grpc.TableServiceStub(channel).Play()
        await call.write(engine_pb2.PlayRequest(attach=engine_pb2.Attach(table_id=table_id)))
        first = await call.read()
        assert isinstance(first, engine_pb2.PlayResponse)
        assert first.snapshot.viewer == -1
        move = engine_pb2.ActRequest(
            table_id=table_id,
            request_id="request-1",
            turn=before.round.turn.number,
            action=table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock()),
        )
        await call.write(engine_pb2.PlayRequest(act=move))
        answer = await call.read()
        assert isinstance(answer, engine_pb2.PlayResponse)
        assert answer.result.request_id == "request-1"
        assert answer.result.error.code == Code.PERMISSION_DENIED.value[0]
        await call.done_writing()
    assert (await seated[0].table.get()).seq == before.seq


@pytest.mark.parametrize(
    "call",
    [
        lambda stub, table_id: stub.OpenTable(
            engine_pb2.OpenTableRequest(
                request_id="request-1",
                player="mallory",
                seat_count=2,
                stake=50,
                turn_timeout_ms=15_000,
            )
        ),
        lambda stub, table_id: stub.TakeSeat(
            engine_pb2.TakeSeatRequest(table_id=table_id, request_id="request-1", player="mallory")
        ),
    ],
    ids=["OpenTable", "TakeSeat"],
)
async def test_only_the_lobby_seats_players(
    platform: StartedPlatform,
    seated: list[Seated],
    call: Callable[[Any, str], Awaitable[object]],
) -> None:
    async with channel_to(platform, "engine", platform.token("mallory")) as channel:
        stub = engine_pb2_grpc.TableServiceStub(channel)
        asked = call(stub, seated[0].table.table_id)
        assert await refusal(asked) == (Code.PERMISSION_DENIED, "ROLE_REFUSED")


async def test_a_player_cannot_leave_for_another(
    platform: StartedPlatform, seated: list[Seated]
) -> None:
    victim = seated[0]
    async with channel_to(platform, "engine", platform.token("mallory")) as channel:
        asked = engine_pb2_grpc.TableServiceStub(channel).LeaveSeat(
            engine_pb2.LeaveSeatRequest(
                table_id=victim.table.table_id, request_id="request-1", player=victim.player_id
            )
        )
        assert await refusal(asked) == (Code.PERMISSION_DENIED, "PLAYER_NOT_CALLER")


WALLET_WRITES = {
    "HoldStake": wallet_pb2.HoldStakeRequest(),
    "VoidHold": wallet_pb2.VoidHoldRequest(),
    "StartMatch": wallet_pb2.StartMatchRequest(),
    "SettleMatch": wallet_pb2.SettleMatchRequest(),
    "VoidMatch": wallet_pb2.VoidMatchRequest(),
    "ForfeitSeat": wallet_pb2.ForfeitSeatRequest(),
    "CloseTable": wallet_pb2.CloseTableRequest(),
    "GrantChips": wallet_pb2.GrantChipsRequest(
        idempotency_key="key-1", player_id="mallory", amount=1_000, reason="because"
    ),
    "ReverseJournal": wallet_pb2.ReverseJournalRequest(),
    "ApproveOperation": wallet_pb2.ApproveOperationRequest(approval_id=1, reason="because"),
    "RejectOperation": wallet_pb2.RejectOperationRequest(approval_id=1, reason="because"),
}


@pytest.mark.parametrize("roles", [(Role.PLAYER,), (Role.LOBBY, Role.RATING, Role.BOTS)])
@pytest.mark.parametrize("method", WALLET_WRITES)
async def test_only_engine_and_operators_write_to_the_wallet(
    platform: StartedPlatform, method: str, roles: tuple[Role, ...]
) -> None:
    """M3, M4: nobody else moves a chip."""
    callee = "" if roles == (Role.PLAYER,) else "wallet"
    token = platform.token("mallory", roles, callee=callee)
    async with channel_to(platform, "wallet", token) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        asked = getattr(stub, method)(WALLET_WRITES[method])
        assert await refusal(asked) == (Code.PERMISSION_DENIED, "ROLE_REFUSED")


async def test_a_player_reads_no_account_but_its_own(tables: Tables, seated: list[Seated]) -> None:
    mallory = await tables.client("mallory")
    for account in (f"player:{seated[0].player_id}", "house:rake", "system:issuance"):
        assert await refusal(mallory.wallet.account(account)) == (
            Code.PERMISSION_DENIED,
            "NOT_OWN_ACCOUNT",
        )
