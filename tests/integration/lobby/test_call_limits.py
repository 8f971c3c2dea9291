"""No player gets round a limit of the lobby, however it names its requests; over gRPC."""

from collections.abc import Awaitable, Callable

import grpc
import pytest

from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.errors import RpcFailure, from_rpc_error
from tests.integration.lobby.small_lobby import Lobby

LobbyStub = lobby_pb2_grpc.LobbyServiceStub
Call = Callable[[LobbyStub, int], Awaitable[object]]


def make(stub: LobbyStub, number: int) -> Awaitable[object]:
    terms = lobby_pb2.TableTerms(seat_count=2, stake=100 + number)
    return stub.CreateTable(lobby_pb2.CreateTableRequest(request_id="the-same", terms=terms))


def join(stub: LobbyStub, number: int) -> Awaitable[object]:
    request = lobby_pb2.JoinTableRequest(table_id=f"{number:026}", request_id="the-same")
    return stub.JoinTable(request)


def guess(stub: LobbyStub, number: int) -> Awaitable[object]:
    code = f"0000-0000-0000-{number:04}"
    return stub.JoinTable(
        lobby_pb2.JoinTableRequest(table_id="w" * 26, request_id="the-same", invite=code)
    )


def leave(stub: LobbyStub, number: int) -> Awaitable[object]:
    request = lobby_pb2.LeaveTableRequest(table_id=f"{number:026}", request_id="the-same")
    return stub.LeaveTable(request)


def ask(stub: LobbyStub, number: int) -> Awaitable[object]:
    return stub.EnqueueTicket(lobby_pb2.EnqueueTicketRequest())


@pytest.mark.parametrize(
    ("call", "at_once", "reason"),
    [
        (make, 10, "TABLES_TOO_OFTEN"),
        (join, 20, "SEATS_TOO_OFTEN"),
        (guess, 20, "SEATS_TOO_OFTEN"),
        (leave, 60, "SEATS_TOO_OFTEN"),
        (ask, 10, "TICKETS_TOO_OFTEN"),
    ],
)
async def test_a_request_id_does_not_open_a_limit(
    lobby: Lobby, call: Call, at_once: int, reason: str
) -> None:
    """What comes under the id of an earlier call, but asks for something else, counts."""
    here, elsewhere = lobby.player("ada"), lobby.player("ada", replica=1)
    refusals = [await refusal_of(call(here, number)) for number in range(at_once)]
    assert all(refusal is None or refusal.reason != reason for refusal in refusals)
    # While these were sent a few more have become free.
    for number in range(at_once, 3 * at_once):
        refusal = await refusal_of(call(elsewhere, number))
        if refusal is not None and refusal.reason == reason:
            break
    else:
        pytest.fail(f"{3 * at_once} calls went through")
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.retry_after_ms is not None
    assert refusal.retry_after_ms > 0


async def refusal_of(call: Awaitable[object]) -> RpcFailure | None:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error)
    return None
