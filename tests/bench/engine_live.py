"""Thousands of live tables without streams: memory, how late clocks ring, how long commands take.

Each table has one command in 30 seconds: at half of them a turn's clock rings, at the others the
player to move acts. How late a clock rang stands in the journal: the row's time less the deadline.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.table import events as e
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from services.engine.journal import Journal
from services.engine.record import Row
from tests.bench.engine_load import channels, in_turns
from tests.bench.engine_seed import Plan, Seeded, seed_tables, table_config
from tests.bench.engine_stand import Stand
from tests.bench.figures import Spread

EVERY_MS: Final = 30_000
_SPREAD_MS: Final = 25_000
_TURNS: Final = 20
"""Half of a round was played, so the tables remember as much as they do on the average."""
_ACT: Final = "/okey.api.engine.v1.TableService/Act"
_READ_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """What so many tables cost an engine; times in milliseconds."""

    tables: int
    ready_s: float
    memory_bytes: int
    cpu_share: float
    lateness_ms: Spread
    latency_ms: Spread


async def measure_live(stand: Stand, url: str, tables: int, seconds: int) -> LiveFigures:
    """Write the tables, let an engine take them over, and watch it for so many seconds."""
    now_ms = SystemClock().now_ms()
    ringing = [
        # Their clocks ring evenly over half a minute, from five seconds after the take-over on.
        Plan(table_config(number, EVERY_MS), now_ms - number * _SPREAD_MS // tables, _TURNS)
        for number in range(0, tables, 2)
    ]
    acting = [Plan(table_config(number), now_ms, _TURNS) for number in range(1, tables, 2)]
    seeded = await seed_tables(url, [*ringing, *acting], now_ms)
    started_s = time.perf_counter()
    async with stand.engine(url) as engine, channels(engine.address) as connections:
        await engine.until_loaded(tables)
        ready_s, loaded_ms = time.perf_counter() - started_s, SystemClock().now_ms()
        cpu_s, started_s = engine.process.cpu_s(), time.perf_counter()
        players = [Actor(stand, table) for table in seeded[len(ringing) :]]
        latencies = await _act_in_turn(players, connections, seconds)
        cpu_share = (engine.process.cpu_s() - cpu_s) / (time.perf_counter() - started_s)
        memory_bytes = engine.process.memory_bytes()
    late = await _lateness_ms(url, [table.table_id for table in seeded[: len(ringing)]], loaded_ms)
    return LiveFigures(
        tables, ready_s, memory_bytes, cpu_share, Spread.of(late), Spread.of(latencies)
    )


class Actor:
    """Whoever is to move at one table, by single calls."""

    def __init__(self, stand: Stand, table: Seeded) -> None:
        self._stand = stand
        self._table = table
        self._drawn = 0
        self._moves = 0

    async def act(self, channel: grpc.aio.Channel) -> float:
        """Draw, or discard what was drawn, and pass on the turn; how many milliseconds it took."""
        table = self._table
        turns = self._moves // 2
        player = table.players[(table.to_move + turns) % len(table.players)]
        action = table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
        if self._drawn:
            tile = common_pb2.Tile.ValueType(self._drawn)
            action = table_pb2.Action(discard=table_pb2.Discard(tile=tile))
        request = engine_pb2.ActRequest(
            table_id=table.table_id,
            request_id=f"request-{self._moves}",
            turn=table.turn + turns,
            action=action,
        )
        metadata = (("authorization", f"Bearer {self._stand.token(player)}"),)
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_ACT)
        started_s = time.perf_counter()
        answer = await call(request.SerializeToString(), metadata=metadata)
        latency_ms = (time.perf_counter() - started_s) * 1000
        self._drawn = engine_pb2.ActResponse.FromString(answer).drawn
        self._moves += 1
        return latency_ms


async def _act_in_turn(
    players: Sequence[Actor], connections: Sequence[grpc.aio.Channel], seconds: int
) -> list[float]:
    """Each table's player acts every 30 seconds, evenly spread; milliseconds a call."""
    loop = asyncio.get_running_loop()
    calls = []
    start_s = loop.time()
    for number in range(round(len(players) * seconds * 1000 / EVERY_MS)):
        due_s = start_s + number * EVERY_MS / 1000 / len(players)
        await asyncio.sleep(due_s - loop.time())
        player = players[number % len(players)]
        calls.append(asyncio.create_task(player.act(connections[number % len(connections)])))
    return await asyncio.gather(*calls)


async def _lateness_ms(url: str, table_ids: Sequence[str], since_ms: int) -> list[float]:
    """Of every clock of a turn that has rung since: how much later than its deadline."""
    database = Database(url)
    journal = Journal(database)
    late: list[float] = []

    async def read(table_id: str) -> None:
        late.extend(_rung(await journal.rows(table_id), since_ms))

    await in_turns([read(table_id) for table_id in table_ids], _READ_AT_ONCE)
    await database.close()
    return late


def _rung(rows: Sequence[Row], since_ms: int) -> list[float]:
    deadline_ms, late = 0, []
    for row in rows:
        if isinstance(row.events[0], e.TurnTimedOut) and deadline_ms >= since_ms:
            late.append(float(row.at_ms - deadline_ms))
        for event in row.events:
            match event:
                case e.TurnStarted(deadline_ms=deadline):
                    deadline_ms = deadline
                case e.TableTakenOver(timers=timers):
                    deadline_ms = min(timer.deadline_ms for timer in timers)
                case _:
                    pass
    return late
