"""Redis that hangs (it takes commands and answers none): no call of the lobby waits long for it."""

import asyncio
from collections.abc import Awaitable, Callable

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.errors import RpcFailure, from_rpc_error
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.small_lobby import Lobby, failure_of, watched

LobbyStub = lobby_pb2_grpc.LobbyServiceStub
OPEN = "w" * 26
TWO = lobby_pb2.TableTerms(seat_count=2)
PATIENCE_S = 30
"""Far beyond what all calls of a test take, and far below one full timeout for each."""


@pytest.fixture
def redis_budget_ms() -> int:
    return 1_000


def calls(stub: LobbyStub) -> list[Callable[[], Awaitable[object]]]:
    """Every call that cannot be answered without Redis."""
    return [
        lambda: stub.ListTables(lobby_pb2.ListTablesRequest()),
        lambda: anext(aiter(stub.WatchTables(lobby_pb2.WatchTablesRequest()))),
        lambda: stub.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO)),
        lambda: stub.GetTicket(lobby_pb2.GetTicketRequest()),
        lambda: anext(aiter(stub.WatchTicket(lobby_pb2.WatchTicketRequest()))),
        lambda: stub.CancelTicket(lobby_pb2.CancelTicketRequest()),
    ]


async def until_away(stub: LobbyStub) -> RpcFailure:
    """A replica remembers the list for a fifth of a second."""
    while True:
        try:
            await stub.ListTables(lobby_pb2.ListTablesRequest())
        except grpc.aio.AioRpcError as error:
            return from_rpc_error(error)


async def until_back(stub: LobbyStub) -> lobby_pb2.ListTablesResponse:
    while True:
        try:
            return await stub.ListTables(lobby_pb2.ListTablesRequest())
        except grpc.aio.AioRpcError as error:
            if from_rpc_error(error).reason != "TABLE_LIST_UNAVAILABLE":
                raise


async def test_nobody_waits_long_for_a_redis_that_hangs(lobby: Lobby, valkey: Valkey) -> None:
    """One finds out for all who ask afterwards: forty times each call at either replica."""
    stubs = [lobby.player("ada", replica=replica) for replica in range(2)]
    valkey.hang()
    async with asyncio.timeout(PATIENCE_S):
        for stub in stubs:
            await until_away(stub)
            for call in calls(stub) * 40:
                failure = await failure_of(call())
                assert failure.code is grpc.StatusCode.UNAVAILABLE
                assert failure.reason in ("TABLE_LIST_UNAVAILABLE", "QUICK_MATCH_UNAVAILABLE")


async def test_tables_are_joined_and_left_while_redis_hangs(lobby: Lobby, valkey: Valkey) -> None:
    lobby.engine.put(OPEN, engine_pb2.OpenTableRequest(seat_count=2), host=1)
    ada = lobby.player("ada")
    valkey.hang()
    async with asyncio.timeout(PATIENCE_S):
        for number in range(40):
            wish = f"request-{number}"
            await ada.JoinTable(lobby_pb2.JoinTableRequest(table_id=OPEN, request_id=wish))
            await ada.LeaveTable(lobby_pb2.LeaveTableRequest(table_id=OPEN, request_id=wish))


async def test_list_and_tickets_are_right_after_redis_has_hung(
    lobby: Lobby, valkey: Valkey
) -> None:
    """What it was asked meanwhile takes effect late; nobody is matched twice by it."""
    ada, bo = lobby.player("ada"), lobby.player("bo", replica=1)
    wish = lobby_pb2.EnqueueTicketRequest(terms=TWO)
    before = (await ada.EnqueueTicket(wish)).ticket
    async with asyncio.timeout(PATIENCE_S):
        valkey.hang()
        for stub in (ada, bo):
            await until_away(stub)
            await failure_of(stub.EnqueueTicket(wish))
        lobby.engine.put(OPEN, engine_pb2.OpenTableRequest(seat_count=4), host=1)
        valkey.go_on()
        for stub in (ada, bo):
            while not (await until_back(stub)).tables:
                pass
        assert (await ada.EnqueueTicket(wish)).ticket.ticket_id == before.ticket_id
        await bo.EnqueueTicket(wish)
        told = await asyncio.gather(watched(ada), watched(bo))
    assert {tickets[-1].state for tickets in told} == {lobby_pb2.TICKET_STATE_SEATED}
    assert lobby.engine.sitting() == [["ada", "bo"], ["host"]]
