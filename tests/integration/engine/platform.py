"""Wallet, rating, bots and engine in the test's own process, over real gRPC, on SQLite."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.api.rating.v1 import rating_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.channel import open_channel
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.identity import Role
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider
from services.bots.app import BotsApp
from services.engine.app import EngineApp
from services.engine.settings import EngineSettings
from services.rating.app import RatingApp
from services.rating.settings import RatingSettings
from services.wallet.app import WalletApp, WalletSettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED

Legal = table_pb2.LegalAction
Ended = engine_pb2.StreamEndReason
T = TypeVar("T")

PASSING = ("DATABASE_AWAY", "TABLE_RELOADING")
"""Why the engine cannot tell for a moment."""
TOO_LATE = ("TURN_EXPIRED", "TURN_OVER")
"""Why a move does not count that came after its turn's clock had rung."""


class Platform:
    """A running platform, and channels to it for whoever calls."""

    def __init__(self, folder: Path, clock_factor: int, database_url: str) -> None:
        self.issuer = Issuer(folder)
        self.engine_address = ""
        self.engine: ServiceServer | None = None
        self._folder = folder
        self._clock_factor = clock_factor
        self._database_url = database_url
        self._addresses: dict[str, str] = {}
        self._services = AsyncExitStack()
        self._engine_stack = AsyncExitStack()
        self._beside: dict[str, AsyncExitStack] = {}
        self._channels = AsyncExitStack()
        self._numbers = count(1)

    async def start(self, engines: int = 1) -> None:
        shared = self._shared("wallet")
        await self._serve("wallet", WalletApp(WalletSettings(welcome_chips=10_000, **shared)))
        await self._serve("rating", RatingApp(RatingSettings(**self._shared("rating"))))
        await self.start_bots()
        if engines:
            await self.start_engine()

    def address_of(self, service: str) -> str:
        """Where wallet, rating or bots answer."""
        return self._addresses[service]

    async def start_bots(self) -> None:
        await self._serve("bots", BotsApp(ServiceSettings(**self._shared("bots"))))

    async def start_engine(self) -> None:
        server = await self._engine_stack.enter_async_context(
            ServiceServer(EngineApp(self.engine_settings()))
        )
        self.engine, self.engine_address = server, server.address

    async def start_beside(self, name: str, **settings: Any) -> ServiceServer:
        """One more engine on the same database; ``stop_beside`` ends it in peace."""
        stack = await self._engine_stack.enter_async_context(AsyncExitStack())
        app = EngineApp(self.engine_settings(engine_name=name, **settings))
        server = await stack.enter_async_context(ServiceServer(app))
        self._beside[name] = stack
        return server

    async def stop_beside(self, name: str) -> None:
        """Its shards are handed over."""
        await self._beside.pop(name).aclose()

    def engine_settings(self, **settings: Any) -> EngineSettings:
        return EngineSettings(
            wallet_address=self._addresses["wallet"],
            rating_address=self._addresses["rating"],
            bots_address=self._addresses["bots"],
            bot_pace_ms=0,
            # All services and the tests share one loop, which is late without being overloaded.
            shed_lag_ms=60_000,
            clock_factor=self._clock_factor,
            service_token_dir=self.issuer.service_token_dir(self._folder, Role.ENGINE),
            **{**self._shared("engine"), "database_url": self._database_url, **settings},
        )

    async def stop_engine(self) -> None:
        await self._channels.aclose()
        await self._engine_stack.aclose()

    async def stop(self) -> None:
        await self.stop_engine()
        await self._services.aclose()

    def request_id(self) -> str:
        return f"request-{next(self._numbers)}"

    async def channel(
        self, subject: str, *roles: Role, to: str = "", at: str = ""
    ) -> grpc.aio.Channel:
        return await self.channel_with(
            self.issuer.metadata(subject, *(roles or (Role.PLAYER,)), to=to or "engine"),
            to=to,
            at=at,
        )

    async def channel_with(
        self, token: MetadataProvider, *, to: str = "", at: str = ""
    ) -> grpc.aio.Channel:
        address = self._addresses[to] if to else at or self.engine_address
        return await self._channels.enter_async_context(open_channel(address, token=token))

    async def tables_as(
        self, subject: str, *roles: Role, at: str = ""
    ) -> engine_pb2_grpc.TableServiceStub:
        """``at`` is the address of an engine, where it is not the first one."""
        return engine_pb2_grpc.TableServiceStub(await self.channel(subject, *roles, at=at))

    async def operator(self, at: str = "") -> engine_pb2_grpc.OperatorServiceStub:
        return engine_pb2_grpc.OperatorServiceStub(await self.channel("op", Role.OPERATOR, at=at))

    async def wallet(self) -> wallet_pb2_grpc.WalletServiceStub:
        channel = await self.channel("op", Role.OPERATOR, to="wallet")
        return wallet_pb2_grpc.WalletServiceStub(channel)

    async def rating(self) -> rating_pb2_grpc.RatingServiceStub:
        channel = await self.channel("op", Role.OPERATOR, to="rating")
        return rating_pb2_grpc.RatingServiceStub(channel)

    async def balance(self, account: str) -> int:
        wallet = await self.wallet()
        return (await wallet.GetAccount(wallet_pb2.GetAccountRequest(account=account))).balance

    async def open_table(self, player: str, **terms: Any) -> str:
        lobby = await self.tables_as("lobby", Role.LOBBY)
        settings = {"seat_count": 2, "stake": 100, "turn_timeout_ms": 120_000, **terms}
        request = engine_pb2.OpenTableRequest(
            request_id=self.request_id(),
            player=player,
            display_name=player.title(),
            **settings,
        )
        return (await settled(lambda: lobby.OpenTable(request))).table_id

    async def take_seat(self, table_id: str, player: str) -> engine_pb2.TakeSeatResponse:
        lobby = await self.tables_as("lobby", Role.LOBBY)
        request = engine_pb2.TakeSeatRequest(
            table_id=table_id,
            request_id=self.request_id(),
            player=player,
            display_name=player.title(),
        )
        return await settled(lambda: lobby.TakeSeat(request))

    async def where_is(self, player: str) -> str:
        """The table where the player sits, as the lobby is told."""
        lobby = await self.tables_as("lobby", Role.LOBBY)
        return (await lobby.WhereAmI(engine_pb2.WhereAmIRequest(player=player))).table_id

    async def _serve(self, name: str, app: Any) -> None:
        server = await self._services.enter_async_context(ServiceServer(app))
        self._addresses[name] = server.address

    def _shared(self, name: str) -> dict[str, Any]:
        return {
            "environment": Environment.TEST,
            "jwks_file": self.issuer.jwks_file,
            "database_url": f"sqlite:///{self._folder / name}.db",
            "stop_grace_ms": 0,
            # Time is hurried here, and so are players.
            **UNLIMITED,
        }


@asynccontextmanager
async def platform(
    folder: Path, clock_factor: int = 20, database_url: str = "", engines: int = 1
) -> AsyncIterator[Platform]:
    url = database_url or f"sqlite:///{folder / 'engine.db'}"
    running = Platform(folder, clock_factor, url)
    await running.start(engines)
    try:
        yield running
    finally:
        await running.stop()


class Player:
    """A client that plays: follows its table and makes plain moves when it is asked to."""

    def __init__(self, world: Platform, name: str, table_id: str) -> None:
        self.name = name
        self.table_id = table_id
        self.view = table_pb2.TableView()
        self.seqs: list[int] = []
        self._moved = 0
        self._world = world

    async def stub(self) -> engine_pb2_grpc.TableServiceStub:
        return await self._world.tables_as(self.name)

    async def until_phase(self, *phases: table_pb2.Phase.ValueType) -> table_pb2.TableView:
        """Play on plainly until the table is in one of the phases."""
        stub = await self.stub()
        self.seqs = []
        async for message in watched(stub, self.table_id):
            self._see(message)
            if self.view.phase in phases:
                return self.view
            await self._move(stub)
        raise AssertionError("the stream broke off")

    def _see(self, message: engine_pb2.WatchTableResponse) -> None:
        self.view, seq = view_in(message), view_in(message).seq
        if message.WhichOneof("message") == "snapshot":
            self.seqs = []  # a stream begins, maybe after one that broke
        assert not self.seqs or seq == self.seqs[-1] + 1, f"gap: {self.seqs[-1:]} {seq}"
        self.seqs.append(seq)

    async def _move(self, stub: engine_pb2_grpc.TableServiceStub) -> None:
        action = plain_action(self.view)
        if action is None or self.view.seq < self._moved:
            return  # a row from before its last move, such as a take-over's
        request = engine_pb2.ActRequest(
            table_id=self.table_id,
            request_id=self._world.request_id(),
            turn=self.view.round.turn.number,
            action=action,
        )
        try:
            self._moved = (await settled(lambda: stub.Act(request))).seq
        except grpc.aio.AioRpcError as error:
            # The house played for it: on a busy machine a hurried clock may ring before the move.
            if from_rpc_error(error).reason not in TOO_LATE:
                raise


async def settled(call: Callable[[], Awaitable[T]]) -> T:
    """The call's answer, the same request sent again while the engine cannot tell: on a busy
    machine it may stand still a moment, and load tables anew.
    """
    while True:
        try:
            return await call()
        except grpc.aio.AioRpcError as error:
            if from_rpc_error(error).reason not in PASSING:
                raise


async def watched(
    stub: engine_pb2_grpc.TableServiceStub, table_id: str
) -> AsyncIterator[engine_pb2.WatchTableResponse]:
    """What a viewer is shown, over as many streams as that takes; each begins with a snapshot."""
    watch = engine_pb2.WatchTableRequest(table_id=table_id, with_view=True)
    while True:
        try:
            async for message in stub.WatchTable(watch):
                if message.WhichOneof("message") != "end":
                    yield message
                elif message.end.reason != Ended.STREAM_END_REASON_TABLE_RELOADED:
                    raise AssertionError(f"the stream ended: {message.end}")
        except grpc.aio.AioRpcError as error:
            if from_rpc_error(error).reason not in PASSING:
                raise


def view_in(message: engine_pb2.WatchTableResponse) -> table_pb2.TableView:
    """The view that a snapshot or an update brings."""
    is_snapshot = message.WhichOneof("message") == "snapshot"
    return message.snapshot if is_snapshot else message.update.view


def plain_action(view: table_pb2.TableView) -> table_pb2.Action | None:
    """Draw from the stock, discard what was drawn; None when it is not the viewer's move."""
    if Legal.LEGAL_ACTION_DRAW_STOCK in view.legal_actions:
        return table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
    if Legal.LEGAL_ACTION_DISCARD in view.legal_actions:
        tile = view.round.drawn or view.round.rack[-1]
        return table_pb2.Action(discard=table_pb2.Discard(tile=tile))
    return None


async def until(world: Platform, table_id: str, player: str, is_there: Any) -> table_pb2.TableView:
    """Watch until the player's view is as asked for, without moving."""
    asked = await world.tables_as(player)
    owner = await asked.LocateTable(engine_pb2.LocateTableRequest(table_id=table_id))
    stub = await world.tables_as(player, at=owner.address)
    async with asyncio.timeout(20):
        async for message in watched(stub, table_id):
            if is_there(view := view_in(message)):
                return view
    raise AssertionError("the stream ended")


async def playing(world: Platform, **terms: Any) -> tuple[str, str, str]:
    """A table of two in its first turn: its id, who is to move, who is not."""
    table_id = await world.open_table("anna", **terms)
    await world.take_seat(table_id, "bert")
    view = await until(world, table_id, "anna", lambda v: v.phase == Phase.PHASE_PLAYING)
    mover = view.seats[view.round.turn.seat].player
    return table_id, mover, "anna" if mover == "bert" else "bert"


async def view_of(world: Platform, table_id: str, player: str) -> table_pb2.TableView:
    stub = await world.tables_as(player)
    return (await stub.GetTable(engine_pb2.GetTableRequest(table_id=table_id))).view


def act(world: Platform, view: table_pb2.TableView, request_id: str = "") -> engine_pb2.ActRequest:
    return engine_pb2.ActRequest(
        table_id=view.config.table_id,
        request_id=request_id or world.request_id(),
        turn=view.round.turn.number,
        action=plain_action(view),
    )


async def refused(call: Any) -> RpcFailure:
    """The refusal that the call gets."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error)
    raise AssertionError("the call was not refused")


Tile = common_pb2.Tile
Phase = table_pb2.Phase
