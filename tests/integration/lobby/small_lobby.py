"""Two replicas of a running lobby before a small engine, and players who call them."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
from pydantic import SecretStr

from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc, operator_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.config import Environment
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fake_engine import FakeApp, fake_engine


class Lobby:
    """Two replicas of a running lobby, the engine behind them, and players who call it."""

    def __init__(self, fakes: FakeApp, issuer: Issuer, servers: list[ServiceServer]) -> None:
        self.engine = fakes.engine
        self.wallet = fakes.wallet
        self.rating = fakes.rating
        self.issuer = issuer
        self.servers = servers
        self._channels: list[grpc.aio.Channel] = []

    def player(
        self, name: str, *roles: Role, replica: int = 0, ttl_ms: int = 600_000
    ) -> lobby_pb2_grpc.LobbyServiceStub:
        named = roles or (Role.PLAYER,)
        token = self.issuer.token(name, named, name=name.title(), ttl_ms=ttl_ms, to="lobby")
        metadata = (("authorization", f"Bearer {token}"),)
        channel = open_channel(self.servers[replica].address, token=lambda: metadata)
        self._channels.append(channel)
        return lobby_pb2_grpc.LobbyServiceStub(channel)

    def operator(self, *roles: Role) -> operator_pb2_grpc.LobbyOperatorServiceStub:
        metadata = self.issuer.metadata("op", *(roles or (Role.OPERATOR,)), to="lobby")
        channel = open_channel(self.servers[1].address, token=metadata)
        self._channels.append(channel)
        return operator_pb2_grpc.LobbyOperatorServiceStub(channel)

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()


@pytest.fixture
def redis_budget_ms() -> int:
    """More than a busy machine needs."""
    return 30_000


@pytest.fixture
def ping_ms() -> int:
    """Longer than a busy machine needs for an answer."""
    return 30_000


@pytest.fixture
def redis_url(valkey: Valkey) -> SecretStr:
    """Where the lobby finds its Redis."""
    return valkey.url


@pytest.fixture
async def lobby(
    redis_url: SecretStr, tmp_path: Path, redis_budget_ms: int, ping_ms: int
) -> AsyncIterator[Lobby]:
    issuer = Issuer(tmp_path)
    async with AsyncExitStack() as stack:
        fakes, engine_address = await stack.enter_async_context(fake_engine(issuer.jwks_file))
        settings = LobbySettings(
            environment=Environment.TEST,
            jwks_file=issuer.jwks_file,
            service_token_dir=issuer.service_token_dir(tmp_path, Role.LOBBY),
            engine_address=engine_address,
            wallet_address=engine_address,
            rating_address=engine_address,
            redis_url=redis_url,
            redis_budget_ms=redis_budget_ms,
            ping_after_ms=ping_ms,
            ping_timeout_ms=ping_ms,
            token_skew_ms=0,
            stop_grace_ms=10_000,
            # Tests look again at once until something has happened.
            **UNLIMITED,
        )
        servers = [
            await stack.enter_async_context(ServiceServer(LobbyApp(settings))) for _ in range(2)
        ]
        lobby = Lobby(fakes, issuer, servers)
        stack.push_async_callback(lobby.close)
        yield lobby


async def failure_of(call: Awaitable[object]) -> RpcFailure:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)


async def watched(
    stub: lobby_pb2_grpc.LobbyServiceStub,
) -> list[lobby_pb2.Ticket]:
    """What a watcher is told until the ticket is over."""
    stream = stub.WatchTicket(lobby_pb2.WatchTicketRequest())
    return [message.ticket async for message in stream]
