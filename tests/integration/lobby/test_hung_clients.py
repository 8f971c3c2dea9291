"""Clients that hang with an open stream: the connection stands, and nobody answers its pings."""

import asyncio
import signal
import sys
from typing import Final

import pytest

from okey.api.lobby.v1 import lobby_pb2
from okey_runtime.identity import Role
from services.lobby.settings import LobbySettings
from tests.integration.lobby.small_lobby import Lobby
from tests.metrics import sample

NOTICED_MS: Final = 8_000
"""What docs/lobby.md promises."""
TWO = lobby_pb2.TableTerms(seat_count=2)
WATCHING = """
import sys
import grpc
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
address, token = sys.argv[1:]
stub = lobby_pb2_grpc.LobbyServiceStub(grpc.insecure_channel(address))
metadata = (("authorization", f"Bearer {token}"),)
for _ in stub.WatchTicket(lobby_pb2.WatchTicketRequest(), metadata=metadata):
    print("told", flush=True)
"""


@pytest.fixture
def ping_ms() -> int:
    return 1_000


def watchers() -> float:
    return sample("okey_lobby_ticket_watchers")


async def test_a_client_that_hangs_holds_its_stream_no_longer_than_pings_take(
    lobby: Lobby,
) -> None:
    await lobby.player("ada").EnqueueTicket(lobby_pb2.EnqueueTicketRequest(terms=TWO))
    token = lobby.issuer.token("ada", (Role.PLAYER,), name="Ada")
    client = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        WATCHING,
        lobby.servers[0].address,
        token,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert client.stdout is not None
        assert await client.stdout.readline() == b"told\n"
        assert watchers() == 1
        client.send_signal(signal.SIGSTOP)
        bystander = lobby.player("bo")
        while watchers():
            await bystander.CancelTicket(lobby_pb2.CancelTicketRequest())
    finally:
        client.kill()
        await client.wait()


def test_the_lobby_notices_a_client_that_hangs_as_soon_as_its_page_says() -> None:
    fields = LobbySettings.model_fields
    assert fields["ping_after_ms"].default + fields["ping_timeout_ms"].default == NOTICED_MS
