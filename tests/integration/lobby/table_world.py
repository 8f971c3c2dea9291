"""Two replicas of the lobby before a real engine and wallet, all in the test's own process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.config import Environment
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from services.lobby.app import LobbyApp
from services.lobby.settings import LobbySettings
from tests.fixtures.limits import UNLIMITED
from tests.fixtures.valkey import Valkey
from tests.integration.engine.platform import Platform, platform

TWO = lobby_pb2.TableTerms(seat_count=2, stake=100)
WELCOME = 10_000
LobbyStub = lobby_pb2_grpc.LobbyServiceStub


class TableWorld:
    """A platform with a lobby, and players who call it."""

    def __init__(self, running: Platform, folder: Path, valkey: Valkey) -> None:
        self.platform = running
        self.valkey = valkey
        self.servers: list[ServiceServer] = []
        self._folder = folder
        self._numbers = count(1)
        self._stack = AsyncExitStack()

    async def start(self, **settings: Any) -> None:
        issuer = self.platform.issuer
        shared = LobbySettings(
            environment=Environment.TEST,
            jwks_file=issuer.jwks_file,
            service_token_dir=issuer.service_token_dir(self._folder, Role.LOBBY),
            engine_address=self.platform.engine_address,
            wallet_address=self.platform.address_of("wallet"),
            rating_address=self.platform.address_of("rating"),
            redis_url=self.valkey.url,
            redis_budget_ms=30_000,
            token_skew_ms=0,
            stop_grace_ms=0,
            # Tests look again at once until something has happened.
            **{**UNLIMITED, **settings},
        )
        for _ in range(2):
            server = await self._stack.enter_async_context(ServiceServer(LobbyApp(shared)))
            self.servers.append(server)

    async def stop(self) -> None:
        await self._stack.aclose()

    def request_id(self) -> str:
        return f"wish-{next(self._numbers):06}"

    async def player(
        self, name: str, *roles: Role, replica: int = 0, ttl_ms: int = 600_000
    ) -> LobbyStub:
        issuer = self.platform.issuer
        named = roles or (Role.PLAYER,)
        token = issuer.token(name, named, name=name.title(), ttl_ms=ttl_ms, to="lobby")
        metadata = (("authorization", f"Bearer {token}"),)
        channel = open_channel(self.servers[replica].address, token=lambda: metadata)
        return LobbyStub(await self._stack.enter_async_context(channel))

    async def create(
        self, player: str, *, replica: int = 0, **fields: Any
    ) -> lobby_pb2.CreateTableResponse:
        stub = await self.player(player, replica=replica)
        wanted = {"request_id": self.request_id(), "terms": TWO, **fields}
        return await stub.CreateTable(lobby_pb2.CreateTableRequest(**wanted))

    async def join(
        self, player: str, table_id: str, *, replica: int = 0, **fields: Any
    ) -> lobby_pb2.JoinTableResponse:
        stub = await self.player(player, replica=replica)
        wanted = {"request_id": self.request_id(), "table_id": table_id, **fields}
        return await stub.JoinTable(lobby_pb2.JoinTableRequest(**wanted))

    async def leave(
        self, player: str, table_id: str, *, replica: int = 0, request_id: str = ""
    ) -> None:
        stub = await self.player(player, replica=replica)
        wanted = {"request_id": request_id or self.request_id(), "table_id": table_id}
        await stub.LeaveTable(lobby_pb2.LeaveTableRequest(**wanted))

    async def chips(self, player: str) -> int:
        """The player's balance; who was never charged still has what the wallet welcomes with."""
        try:
            return await self.platform.balance(f"player:{player}")
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            return WELCOME

    async def until_chips(self, player: str, chips: int) -> None:
        """The wallet is told by the engine's outbox, a moment after the table."""
        async with asyncio.timeout(10):
            while await self.chips(player) != chips:
                pass

    async def until_closed(self, table_id: str) -> None:
        """Return once the engine has closed the table."""
        async with asyncio.timeout(20):
            while any(table.table_id == table_id for table in await self.engines()):
                pass

    async def engines(self) -> list[engine_pb2.TableSummary]:
        """The engine's truth: every table that is not closed."""
        operator = await self.platform.operator()
        return list((await operator.ListTables(engine_pb2.ListTablesRequest())).tables)

    async def listed(self, *table_ids: str, replica: int = 0) -> list[lobby_pb2.ListedTable]:
        """A list that was made after this was asked, once one holds these tables and no others."""
        asked_ms = SystemClock().now_ms()
        stub = await self.player("looker", replica=replica)
        while True:
            try:
                page = await stub.ListTables(lobby_pb2.ListTablesRequest())
            except grpc.aio.AioRpcError as error:
                if from_rpc_error(error).reason != "TABLE_LIST_UNAVAILABLE":
                    raise
            else:
                found = {table.table_id for table in page.tables}
                if page.as_of_ms >= asked_ms and found == set(table_ids):
                    return list(page.tables)


@asynccontextmanager
async def table_world(
    folder: Path, valkey: Valkey, *, clock_factor: int = 20, **settings: Any
) -> AsyncIterator[TableWorld]:
    async with platform(folder, clock_factor=clock_factor) as running:
        world = TableWorld(running, folder, valkey)
        try:
            await world.start(**settings)
            yield world
        finally:
            await world.stop()


def seated(table: engine_pb2.TableSummary) -> list[str]:
    """Who sits there, by seat; empty for a free seat."""
    return [seat.player for seat in table.seats]


@pytest.fixture
async def world(valkey: Valkey, tmp_path: Path) -> AsyncIterator[TableWorld]:
    async with table_world(tmp_path, valkey) as running:
        yield running


async def outcomes(*calls: Any) -> list[Any]:
    """What became of calls that were made at once: the answer, or the refusal."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    return [
        from_rpc_error(answer) if isinstance(answer, grpc.aio.AioRpcError) else answer
        for answer in answers
    ]


def reasons(answers: list[Any]) -> list[str]:
    return sorted(answer.reason for answer in answers if isinstance(answer, RpcFailure))
