"""kill -9 of an engine with very many live tables: how long until each takes a command again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.identity import Role
from tests.chaos.cluster.stand import ENGINES, ClusterStand
from tests.chaos.tables.link import Caller, NoAnswer

VICTIM: Final = ENGINES[0]

_AT_ONCE: Final = 24
_OVER: Final = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)
_LOOK_EVERY_S: Final = 0.5
_TURN_TIMEOUT_MS: Final = 120_000
_SHARDS: Final = 256
_MOVE_TIMEOUT_S: Final = 30.0
# As okey_client waits.
_FIRST_PAUSE_S: Final = 0.1
_LAST_PAUSE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A table where it is a person's turn, and the command that this person sends next."""

    table_id: str
    caller: Caller
    command: engine_pb2.ActRequest


@dataclass(frozen=True, slots=True)
class Again:
    """When, after the kill, a table accepted its command, at which try."""

    table_id: str
    after_ms: int
    tries: int


async def move_everything_to(stand: ClusterStand, engine: str) -> None:
    """Pin every shard there."""
    metadata = (("authorization", f"Bearer {stand.token('operator', Role.OPERATOR)}"),)
    stub = engine_pb2_grpc.OperatorServiceStub(stand.engine_channel())
    for shard in range(_SHARDS):
        request = engine_pb2.MoveShardRequest(shard=shard, engine=engine)
        while True:
            try:
                await stub.MoveShard(request, timeout=_MOVE_TIMEOUT_S, metadata=metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(_LOOK_EVERY_S)
                continue
            break


async def open_tables(stand: ClusterStand, tables: int) -> list[Waiting]:
    """Tables of one person against a bot, each at the person's turn."""
    numbers, gate = count(1), asyncio.Semaphore(_AT_ONCE)
    lobby = stand.caller("lobby", Role.LOBBY)

    async def one() -> Waiting:
        while True:
            waiting = await begun()
            if waiting is not None:
                return waiting

    async def begun() -> Waiting | None:
        """A table at its person's turn; None where the bot was dealt a hand that it could lay."""
        async with gate:
            name = f"crowd-{next(numbers)}"
            opening = engine_pb2.OpenTableRequest(
                request_id=f"open-{name}",
                player=name,
                mode=common_pb2.MODE_SOLO,
                seat_count=2,
                stake=100,
                turn_timeout_ms=_TURN_TIMEOUT_MS,
            )
            opened = await _sent(lobby, lobby.stub.OpenTable, opening)
        caller = stand.caller(name)
        asking = engine_pb2.GetTableRequest(table_id=opened.table_id)
        while True:
            async with gate:
                view = (await _sent(caller, caller.stub.GetTable, asking)).view
            if view.phase in _OVER:
                return None
            action = _next_action(view)
            if action is not None:
                command = engine_pb2.ActRequest(
                    table_id=opened.table_id,
                    request_id=f"after-{name}",
                    turn=view.round.turn.number,
                    action=action,
                )
                return Waiting(opened.table_id, caller, command)
            await asyncio.sleep(_LOOK_EVERY_S)

    return await asyncio.gather(*(one() for _ in range(tables)))


async def kill_and_go_on(stand: ClusterStand, waiting: list[Waiting]) -> list[Again]:
    """Kill the engine, let it stay down, and have everybody send its command until it counts."""
    clock, chance = SystemClock(), Random(1)
    victim = stand.services[VICTIM]
    victim.hold()
    began_ms = clock.monotonic_ms()
    victim.kill()

    async def one(each: Waiting) -> Again:
        tries, bound_s = 1, _FIRST_PAUSE_S
        while not await _accepts(each):
            tries += 1
            await asyncio.sleep(bound_s * chance.uniform(0.5, 1.0))
            bound_s = min(2 * bound_s, _LAST_PAUSE_S)
        return Again(each.table_id, clock.monotonic_ms() - began_ms, tries)

    return await asyncio.gather(*(one(each) for each in waiting))


async def _accepts(each: Waiting) -> bool:
    try:
        await each.caller.unary(each.caller.stub.Act, each.command)
    except NoAnswer:
        return False
    return True


def _next_action(view: table_pb2.TableView) -> table_pb2.Action | None:
    """What the viewer may do in its turn; None where it is not its turn."""
    if not view.round.turn.number or view.round.turn.seat != view.viewer:
        return None
    if table_pb2.LEGAL_ACTION_DRAW_STOCK in view.legal_actions:
        return table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
    if table_pb2.LEGAL_ACTION_DISCARD in view.legal_actions:
        return table_pb2.Action(discard=table_pb2.Discard(tile=view.round.rack[0]))
    return None


async def _sent(caller: Caller, method: Callable[..., Awaitable[Any]], request: Message) -> Any:
    """Send the same until it is answered."""
    while True:
        try:
            return await caller.unary(method, request)
        except NoAnswer:
            await asyncio.sleep(_LOOK_EVERY_S)
