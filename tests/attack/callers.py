"""Callers with good tokens who ask for more than their share, over an ordinary gRPC client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.events.v1 import events_pb2, events_pb2_grpc
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from tests.attack.raid import Attack, Raid

SUBSCRIBERS: Final = 30
_ROUNDS: Final = 2
_LONG: Final = 6
"""The first tables, which have finished rounds by now."""

_READERS: Final = 8
_LISTS_PER_S: Final = 400
_CALLS_PER_PLAYER_S: Final = 40


@asynccontextmanager
async def _channel(raid: Raid, address: str, number: int) -> AsyncIterator[grpc.aio.Channel]:
    """A connection of its own."""
    raid.spent.connections += 1
    options = (("grpc.use_local_subchannel_pool", 1), ("okey.number", number))
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        yield channel


def _as(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def _noted(raid: Raid, error: grpc.aio.AioRpcError) -> None:
    raid.spent.answers[error.code().name] += 1


def subscribers() -> Attack:
    """Thirty streams of one integrator that replay everything, again and again."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def one(number: int) -> None:
            async with _channel(raid, raid.aim.services["engine"], number % 4) as channel:
                stub: Any = events_pb2_grpc.EventServiceStub(channel)
                while not raid.is_over:
                    raid.spent.requests += 1
                    await _replayed(raid, stub)

        await raid.side_by_side(one(number) for number in range(SUBSCRIBERS))

    return attack


async def _replayed(raid: Raid, stub: Any) -> None:
    """One replay, over when nothing comes for a moment."""
    call = stub.Subscribe(events_pb2.SubscribeRequest(), metadata=_as(raid.aim.integrator))
    try:
        while not raid.is_over:
            async with asyncio.timeout(0.2):
                row = await call.read()
            if row is grpc.aio.EOF:
                return
            raid.spent.answers["rows"] += 1
    except TimeoutError:
        return
    except grpc.aio.AioRpcError as error:
        _noted(raid, error)
        await asyncio.sleep(0.05)
    finally:
        call.cancel()


def player_lists() -> Attack:
    """Finished rounds of long tables, again and again, by players within their limit."""
    return _lists(lambda raid: raid.aim.players[:_READERS])


def integrator_lists() -> Attack:
    """The same by an integrator."""
    return _lists(lambda raid: [raid.aim.integrator])


def _lists(tokens_of: Callable[[Raid], list[str]]) -> Attack:

    async def attack(raid: Raid) -> None:
        tokens = tokens_of(raid)
        await raid.go()

        async def one(number: int) -> None:
            async with _channel(raid, raid.aim.services["engine"], number) as channel:
                stub: Any = engine_pb2_grpc.TableServiceStub(channel)
                token = _as(tokens[number % len(tokens)])

                async def once(at: int) -> None:
                    table = raid.aim.tables[at % min(_LONG, len(raid.aim.tables))]
                    request = engine_pb2.ListEventsRequest(
                        table_id=table, match_no=1, round_no=1 + at % _ROUNDS
                    )
                    await _asked(raid, stub.ListEvents(request, metadata=token))

                await raid.again_and_again(_LISTS_PER_S / _READERS, once, at_once=4)

        await raid.side_by_side(one(number) for number in range(_READERS))

    return attack


def busy_players() -> Attack:
    """Players who call this and that without a pause, each within the limit of each call."""

    async def attack(raid: Raid) -> None:
        await raid.go()

        async def one(number: int, token: str) -> None:
            async with (
                _channel(raid, raid.aim.services["engine"], number) as to_engine,
                _channel(raid, raid.aim.services["lobby"], number) as to_lobby,
                _channel(raid, raid.aim.services["wallet"], number) as to_wallet,
            ):
                calls = _calls(raid, _as(token), to_engine, to_lobby, to_wallet)

                async def once(at: int) -> None:
                    await _asked(raid, calls[at % len(calls)]())

                await raid.again_and_again(_CALLS_PER_PLAYER_S, once, at_once=4)

        await raid.side_by_side(one(*each) for each in enumerate(raid.aim.players[:_READERS]))

    return attack


def _calls(
    raid: Raid,
    token: tuple[tuple[str, str], ...],
    to_engine: grpc.aio.Channel,
    to_lobby: grpc.aio.Channel,
    to_wallet: grpc.aio.Channel,
) -> tuple[Callable[[], Awaitable[Any]], ...]:
    engine: Any = engine_pb2_grpc.TableServiceStub(to_engine)
    lobby: Any = lobby_pb2_grpc.LobbyServiceStub(to_lobby)
    wallet: Any = wallet_pb2_grpc.WalletServiceStub(to_wallet)
    account = wallet_pb2.GetAccountRequest(account=f"player:{raid.aim.player_ids[0]}")
    table = engine_pb2.GetTableRequest(table_id=raid.aim.tables[-1])
    return (
        lambda: engine.GetTable(table, metadata=token),
        lambda: lobby.ListTables(lobby_pb2.ListTablesRequest(), metadata=token),
        lambda: wallet.GetAccount(account, metadata=token),
        lambda: engine.WhereAmI(engine_pb2.WhereAmIRequest(), metadata=token),
    )


async def _asked(raid: Raid, call: Awaitable[Any]) -> None:
    raid.spent.requests += 1
    with suppress(asyncio.CancelledError):
        try:
            await call
        except grpc.aio.AioRpcError as error:
            _noted(raid, error)
        else:
            raid.spent.answers["OK"] += 1
