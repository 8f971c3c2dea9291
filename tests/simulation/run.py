"""One run: a seed in, what was played and what was found wrong out."""

import asyncio
import gc
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Final

from sqlalchemy import select

from services.engine.caught import Caught
from services.engine.schema import tables as registry
from tests.chaos.tables.history import ENGINE
from tests.simulation.loop import SimulatedLoop
from tests.simulation.platform import Platform, simulated, told
from tests.simulation.settled import check_settled
from tests.simulation.tables import Tables
from tests.simulation.trace import Tell, Trace
from tests.simulation.weather import Climate, Weather

TABLES: Final = 16
LANES: Final = 8
_LONGEST_S: Final = 6_000.0
_SETTLES_WITHIN_S: Final = 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    seed: int
    tables: int
    digest: str
    steps: int
    virtual_s: float
    counts: Counter[str]
    findings: tuple[str, ...]


def run(seed: int, tables: int = TABLES, tell: Tell | None = None) -> Outcome:
    """Play one platform from its first table to its last, and look whether all is right."""
    chance = Random(f"okey-simulation-{seed}")
    trace = Trace(tell)
    loop = SimulatedLoop(Random(chance.getrandbits(64)), trace)
    weather = Weather(Random(chance.getrandbits(64)), Climate.drawn(chance))
    platform = Platform(loop, weather, Random(chance.getrandbits(64)), trace)
    played = Tables(platform.network, platform.clock, Random(chance.getrandbits(64)))
    gc.disable()
    try:
        with simulated(platform, f"entropy-{seed}"):
            try:
                loop.run_until_complete(_whole(platform, played, tables))
            finally:
                loop.bury()
        counts: Counter[str] = Counter()
        findings = platform.failures or list(check_settled(platform, played.clients, counts))
        return Outcome(
            seed, tables, trace.digest(), loop.steps, loop.time(), counts, tuple(findings)
        )
    finally:
        for disk in platform.disks.values():
            disk.close()
        loop.close()
        gc.enable()
        gc.collect()


async def _whole(platform: Platform, played: Tables, tables: int) -> None:
    loop = platform.loop
    playing: asyncio.Future[None] = loop.create_future()

    async def play() -> None:
        with Caught() as caught:
            await played.play(tables, LANES)
        if caught.error is not None:
            platform.fail(f"a player failed: {told(caught.error)}")
        playing.set_result(None)

    platform.start()
    loop.start("players", play)
    storm = loop.create_task(platform.storm())
    waits = (playing, platform.has_failed)
    await asyncio.wait(waits, timeout=_LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
    storm.cancel()
    if not playing.done():
        if not platform.failures:
            platform.fail(f"after {_LONGEST_S} s {tables - played.closed} tables are still played")
        return
    platform.weather.calm_down()
    await _until_retired(platform)
    if _unretired(platform):
        # A table that could not be retired is found by the next start.
        for name, service in platform.services.items():
            if name.startswith(ENGINE):
                service.kill(0.0)
        await _until_retired(platform)


async def _until_retired(platform: Platform) -> None:
    """Return once nothing is left to do for any table, or after a while."""
    for _ in range(_SETTLES_WITHIN_S):
        if not _unretired(platform):
            return
        await asyncio.sleep(1.0)


def _unretired(platform: Platform) -> int:
    query = select(registry.c.table_id).where(~registry.c.is_retired)
    return len(platform.disks["engine"].run(lambda c: c.execute(query).all()))
