"""Redis fails over by name: the old primary lives on as a replica, and keeps its clients."""

import asyncio

import grpc
import pytest
from pydantic import SecretStr

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from tests.fixtures.valkey import FailingOver
from tests.integration.lobby.small_lobby import Lobby

OPEN = "w" * 26
TWO = lobby_pb2.TableTerms(seat_count=2)
PATIENCE_S = 20


@pytest.fixture
def redis_url(failing_over: FailingOver) -> SecretStr:
    return failing_over.url


@pytest.fixture
def redis_budget_ms() -> int:
    return 1_000


async def test_list_and_tickets_are_back_once_the_name_leads_elsewhere(
    lobby: Lobby, failing_over: FailingOver
) -> None:
    """At every replica, with what the engine has meanwhile; nobody needs to restart anything."""
    ada, bo = lobby.player("ada"), lobby.player("bo", replica=1)
    await ada.EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    await failing_over.fail_over()
    lobby.engine.put(OPEN, engine_pb2.OpenTableRequest(seat_count=2), host=1)
    async with asyncio.timeout(PATIENCE_S):
        for number, stub in enumerate((ada, bo)):
            await until_listed(stub)
            ticket = await until_waiting(stub)
            assert ticket.state == lobby_pb2.TICKET_STATE_WAITING, number


async def until_listed(stub: lobby_pb2_grpc.LobbyServiceStub) -> None:
    while True:
        try:
            listed = await stub.ListTables(lobby_pb2.ListTablesRequest())
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            continue
        if [table.table_id for table in listed.tables] == [OPEN]:
            return


async def until_waiting(stub: lobby_pb2_grpc.LobbyServiceStub) -> lobby_pb2.Ticket:
    while True:
        try:
            request = lobby_pb2.EnqueueTicketRequest(terms=lobby_pb2.TableTerms(seat_count=4))
            return (await stub.EnqueueTicket(request)).ticket
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
