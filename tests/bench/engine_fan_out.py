"""What it costs the engine to tell watchers, beside a bare stream server that tells as many."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from okey_runtime.clock import SystemClock
from tests.bench.engine_crowd import BareStream, in_rooms, watching
from tests.bench.engine_load import Traffic, seated
from tests.bench.engine_seed import Plan, seed_tables, table_config
from tests.bench.engine_stand import Process, Stand, bare

WATCHERS: Final = 200
TURNS: Final = 24
PASSES: Final = 5
SEATS: Final = 4


@dataclass(frozen=True, slots=True)
class Delivery:
    """Updates delivered in one pass: for each CPU second of the server, and a second."""

    per_cpu_s: float
    per_s: float


@dataclass(frozen=True, slots=True)
class FanOutFigures:
    """Passes of the engine and of the bare server."""

    engine: list[Delivery]
    bare: list[Delivery]

    @property
    def ratio(self) -> float:
        """Deliveries of the engine to one of the bare server, for the same CPU: the median."""
        pairs = zip(self.engine, self.bare, strict=True)
        return statistics.median(engine.per_cpu_s / bare.per_cpu_s for engine, bare in pairs)


@dataclass(frozen=True, slots=True)
class Room:
    """A room of the bare server, where the first one speaks and the others listen."""

    streams: list[BareStream]
    content: bytes

    async def turn(self) -> None:
        """Two requests, as a turn has."""
        await self.streams[0].ask(self.content)
        await self.streams[0].ask(self.content)

    async def until(self, count: int) -> None:
        """Return once everybody has so many updates."""
        await asyncio.gather(*(stream.until(count) for stream in self.streams))


async def measure_fan_out(stand: Stand, url: str, passes: int = PASSES) -> FanOutFigures:
    """One table a pass, with its four players and many spectators."""
    now_ms = SystemClock().now_ms()
    plans = [Plan(table_config(number), now_ms) for number in range(passes + 1)]
    tables = await seed_tables(url, plans, now_ms)
    figures = FanOutFigures([], [])
    async with stand.engine(url) as engine, bare() as (bare_process, bare_address):
        await engine.until_loaded(len(tables))
        for number, table in enumerate(tables):
            traffic = Traffic()
            async with (
                seated(stand, engine.address, [table], traffic) as [played],
                watching(stand, engine.address, table.table_id, WATCHERS) as watchers,
            ):
                delivered = await _delivered(
                    engine.process, partial(played.play, 1), watchers.until
                )
            request, result, update = traffic.mean_sizes()
            streams = WATCHERS + SEATS
            async with in_rooms(bare_address, 1, streams, result, update) as [room]:
                heard = Room(room, b"x" * request)
                bare_delivered = await _delivered(bare_process, heard.turn, heard.until)
            if number:
                figures.engine.append(delivered)
                figures.bare.append(bare_delivered)
    return figures


async def _delivered(
    process: Process,
    turn: Callable[[], Awaitable[None]],
    until: Callable[[int], Awaitable[None]],
) -> Delivery:
    """Play turn after turn, each seen by everybody before the next."""
    cpu_s, started_s = process.cpu_s(), time.perf_counter()
    for number in range(1, TURNS + 1):
        await turn()
        await until(2 * number)
    cpu_s, seconds = process.cpu_s() - cpu_s, time.perf_counter() - started_s
    deliveries = TURNS * 2 * (WATCHERS + SEATS)
    return Delivery(deliveries / cpu_s, deliveries / seconds)
