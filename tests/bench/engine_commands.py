"""Engine CPU a command over Play, beside a bare stream server that sends as much to as many.

Tables of four, everybody on a stream of their own, play as fast as the engine lets them. Then the
bare server's rooms of four do, with messages of the same sizes: once at the engine's pace, which is
what the engine's CPU is compared with, and once as fast as it goes. A stream server needs less CPU
for a message the more of them come at once, so only at the same pace is it the same work. A second
bare server has gRPC's threads give way to its loop, as the engine does; what is left then is ours.
"""

import asyncio
import statistics
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from okey_runtime.clock import SystemClock
from tests.bench.engine_crowd import BareStream, in_rooms
from tests.bench.engine_load import Traffic, seated
from tests.bench.engine_seed import Plan, seed_tables, table_config
from tests.bench.engine_stand import GIVING_WAY, Process, Stand, bare

TABLES: Final = 64
SEATS: Final = 4
TURNS: Final = 16
PASSES: Final = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What one pass took: CPU microseconds of the server a command, and commands a second."""

    cpu_us: float
    per_s: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A pass of the engine and three of bare servers, with the mean sizes of messages."""

    engine: Cost
    bare: Cost
    bare_hurried: Cost
    bare_giving_way: Cost
    sizes: tuple[int, int, int]

    @property
    def ratio(self) -> float:
        """How many times the bare server's CPU a command costs."""
        return self.engine.cpu_us / self.bare.cpu_us

    @property
    def giving_way_ratio(self) -> float:
        """The same to a bare server whose threads give way as the engine's do."""
        return self.engine.cpu_us / self.bare_giving_way.cpu_us

    @property
    def hurried_ratio(self) -> float:
        """The same where both go as fast as they can, so the bare server several times faster."""
        return self.engine.cpu_us / self.bare_hurried.cpu_us


@dataclass(slots=True)
class CommandFigures:
    """All passes on one database."""

    pairs: list[Pair] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median of the passes' ratios."""
        return statistics.median(pair.ratio for pair in self.pairs)

    @property
    def giving_way_ratio(self) -> float:
        """The median of the passes' ratios to the one whose threads give way."""
        return statistics.median(pair.giving_way_ratio for pair in self.pairs)

    @property
    def hurried_ratio(self) -> float:
        """The median of the passes' ratios where both hurry."""
        return statistics.median(pair.hurried_ratio for pair in self.pairs)

    @property
    def engine(self) -> Cost:
        """The engine's median pass."""
        return _median([pair.engine for pair in self.pairs])

    @property
    def bare(self) -> Cost:
        """The bare server's median pass at the engine's pace."""
        return _median([pair.bare for pair in self.pairs])

    @property
    def bare_hurried(self) -> Cost:
        """The bare server's median pass as fast as it goes."""
        return _median([pair.bare_hurried for pair in self.pairs])


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.cpu_us for cost in costs),
        statistics.median(cost.per_s for cost in costs),
    )


async def measure_commands(
    stand: Stand, url: str, passes: int = PASSES, profile: Path | None = None
) -> CommandFigures:
    """So many passes on a database with its schema; one more before them warms both up."""
    now_ms = SystemClock().now_ms()
    plans = [Plan(table_config(number), now_ms) for number in range(TABLES * (passes + 1))]
    tables = await seed_tables(url, plans, now_ms)
    figures = CommandFigures()
    async with (
        stand.engine(url, profile) as engine,
        bare() as (bare_process, bare_address),
        bare(GIVING_WAY) as (giving_way, giving_way_address),
    ):
        await engine.until_loaded(len(tables))
        for start in range(0, len(tables), TABLES):
            traffic = Traffic()
            fresh = tables[start : start + TABLES]
            async with seated(stand, engine.address, fresh, traffic) as played:
                cost = await _cost(engine.process, [table.play(TURNS) for table in played])
            sizes = traffic.mean_sizes()
            request, result, update = sizes
            async with in_rooms(bare_address, TABLES, SEATS, result, update) as rooms:
                content = b"x" * request
                every_s = TABLES / cost.per_s
                bare_cost = await _cost(bare_process, _asking(rooms, content, every_s))
                hurried = await _cost(bare_process, _asking(rooms, content, 0))
            async with in_rooms(giving_way_address, TABLES, SEATS, result, update) as rooms:
                gave_way = await _cost(giving_way, _asking(rooms, content, every_s))
            if start:
                figures.pairs.append(Pair(cost, bare_cost, hurried, gave_way, sizes))
    return figures


async def _cost(process: Process, work: Sequence[Coroutine[Any, Any, None]]) -> Cost:
    cpu_s, started_s = process.cpu_s(), time.perf_counter()
    await asyncio.gather(*work)
    cpu_s, seconds = process.cpu_s() - cpu_s, time.perf_counter() - started_s
    commands = TABLES * TURNS * 2
    return Cost(cpu_s / commands * 1e6, commands / seconds)


def _asking(
    rooms: Sequence[list[BareStream]], content: bytes, every_s: float
) -> list[Coroutine[Any, Any, None]]:
    """Every room's requests, one each ``every_s``, spread evenly over the rooms."""
    start_s = asyncio.get_running_loop().time()
    return [
        ask_in_turns(room, content, start_s + number * every_s / len(rooms), every_s)
        for number, room in enumerate(rooms)
    ]


async def ask_in_turns(
    room: list[BareStream], content: bytes, first_s: float, every_s: float
) -> None:
    """What a table does: two requests of one stream, then two of the next; none before its time."""
    loop = asyncio.get_running_loop()
    for number in range(TURNS * 2):
        wait_s = first_s + number * every_s - loop.time()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        await room[number // 2 % len(room)].ask(content)
