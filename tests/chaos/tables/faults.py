"""What is done to engine and database: in an order of the seed, each for a bounded time."""

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Final

from okey_runtime.clock import Clock
from tests.chaos.tables.history import DATABASE, ENGINE, KILLED, PAUSED, RESTARTED, Outage
from tests.chaos.tables.stand import TablesStand

BOTH: Final = "both"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is hit and how; it stays away for ``length_s`` where that can be chosen, and is left in
    peace for ``calm_s`` before the next.
    """

    target: str
    kind: str
    length_s: float
    calm_s: float


def plan(chance: Random, longest_s: float, longest_calm_s: float) -> Iterator[Fault]:
    """Faults without end: every kind on every target before any comes again."""
    every = [*product((ENGINE, DATABASE), (KILLED, PAUSED, RESTARTED)), (BOTH, KILLED)]
    while True:
        chance.shuffle(every)
        for target, kind in every:
            length_s = round(chance.uniform(0.1, longest_s), 2)
            yield Fault(target, kind, length_s, round(chance.uniform(0.5, longest_calm_s), 2))


async def inflict(stand: TablesStand, fault: Fault, clock: Clock) -> list[Outage]:
    """Do it and wait until everything takes work again; the times when a part was surely away."""
    database = _hit_database(stand, fault, clock) if fault.target != ENGINE else _nothing()
    engine = _hit_engine(stand, fault, clock) if fault.target != DATABASE else _nothing()
    outages = [*await asyncio.gather(database, engine)]
    await stand.ready()
    return [outage for outage in outages if outage is not None]


async def _nothing() -> None:
    return None


async def _hit_engine(stand: TablesStand, fault: Fault, clock: Clock) -> Outage:
    engine = stand.services[ENGINE]
    if fault.kind == PAUSED:
        engine.send(signal.SIGSTOP)
        began_ms = clock.now_ms()
        await asyncio.sleep(fault.length_s)
        ended_ms = clock.now_ms()
        engine.send(signal.SIGCONT)
        return Outage(ENGINE, PAUSED, began_ms, ended_ms)
    # It is started again at once.
    await engine.end(signal.SIGKILL if fault.kind == KILLED else signal.SIGTERM)
    began_ms = clock.now_ms()
    return Outage(ENGINE, fault.kind, began_ms, max(began_ms, await engine.ready()))


async def _hit_database(stand: TablesStand, fault: Fault, clock: Clock) -> Outage:
    server = stand.server
    if fault.kind == PAUSED:
        server.pause()
        began_ms = clock.now_ms()
        await asyncio.sleep(fault.length_s)
        ended_ms = clock.now_ms()
        server.resume()
        return Outage(DATABASE, PAUSED, began_ms, ended_ms)
    if fault.kind == KILLED:
        await asyncio.to_thread(server.kill)
    else:
        await asyncio.to_thread(server.stop)
    began_ms = clock.now_ms()
    await asyncio.sleep(fault.length_s)
    ended_ms = clock.now_ms()
    await asyncio.to_thread(server.start)
    return Outage(DATABASE, fault.kind, began_ms, ended_ms)
