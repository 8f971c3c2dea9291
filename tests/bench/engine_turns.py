"""Tables at which everybody is on a stream and a turn is played every three seconds."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from okey_runtime.clock import SystemClock
from tests.bench.engine_load import PlayedTable, Traffic, seated
from tests.bench.engine_seed import Plan, seed_tables, table_config
from tests.bench.engine_stand import Stand
from tests.bench.figures import Spread

EVERY_S: Final = 3.0
_WARM_UP_TURNS: Final = 1


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """How long commands took at so many tables, in milliseconds, and what the engine used."""

    tables: int
    latency_ms: Spread
    cpu_share: float
    commands_per_s: float


async def measure_turns(stand: Stand, url: str, tables: int, turns: int) -> TurnFigures:
    """Every table plays so many turns, a draw and a discard each, evenly spread over the tables."""
    now_ms = SystemClock().now_ms()
    plans = [Plan(table_config(number), now_ms) for number in range(tables)]
    seeded = await seed_tables(url, plans, now_ms)
    traffic = Traffic()
    async with stand.engine(url) as engine:
        await engine.until_loaded(tables)
        async with seated(stand, engine.address, seeded, traffic) as played:
            await play_all(played, _WARM_UP_TURNS)
            traffic.clear()
            loop = asyncio.get_running_loop()
            cpu_s, started_s = engine.process.cpu_s(), loop.time()
            await play_all(played, turns)
            cpu_s, seconds = engine.process.cpu_s() - cpu_s, loop.time() - started_s
    latencies = [1000 * latency_s for latency_s in traffic.latencies_s]
    return TurnFigures(tables, Spread.of(latencies), cpu_s / seconds, len(latencies) / seconds)


async def play_all(played: Sequence[PlayedTable], turns: int) -> None:
    """So many turns at every table, evenly spread over the tables."""
    start_s = asyncio.get_running_loop().time()
    share_s = EVERY_S / len(played)
    await asyncio.gather(
        *(
            table.play_slowly(turns, start_s + number * share_s, EVERY_S)
            for number, table in enumerate(played)
        )
    )
