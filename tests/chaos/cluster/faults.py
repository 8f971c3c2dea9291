"""What is done to a cluster: in an order of the seed, each for a bounded time."""

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final

from redis import Redis

from okey_runtime.clock import Clock
from tests.chaos.cluster.net import Direction, Partition
from tests.chaos.cluster.stand import DATABASE_HOSTS, ENGINES, ClusterStand
from tests.chaos.cluster.tools import faketime_library
from tests.chaos.tables.faults import Fault
from tests.chaos.tables.history import CUT_OFF, DATABASE, KILLED, PAUSED, RESTARTED, Outage

DRAINED: Final = "drained"
SKEWED: Final = "set another clock"
UPGRADED: Final = "upgraded"
"""Drained, and its next life knows every kind of event."""
FLUSHED: Final = "flushed"
VALKEY: Final = "valkey"
WALLET: Final = "wallet-1"
LOBBY: Final = "lobby-1"
ENGINE: Final = "an engine"
"""Whichever comes up."""

QUICK: Final = (
    *((ENGINE, KILLED), (ENGINE, DRAINED), (ENGINE, PAUSED)),
    *((DATABASE, RESTARTED), (VALKEY, FLUSHED), (VALKEY, RESTARTED)),
)
"""What needs no tools of the machine."""
ALL: Final = (
    *QUICK,
    *((ENGINE, CUT_OFF), (ENGINE, SKEWED), (ENGINE, KILLED), (ENGINE, DRAINED)),
    *((WALLET, KILLED), (LOBBY, KILLED)),
)

_PAUSES: Final = {PAUSED: (1.0, 4.0), CUT_OFF: (-4.0, 4.0)}
"""How much longer than a lease an engine is away, at least and at most, in seconds."""
_LONGEST_DOWN_S: Final = 3.0
_SKEWS_S: Final = (90, 20, -20, -90)


def plan(
    chance: Random, lease_ms: int, every: Sequence[tuple[str, str]], longest_calm_s: float
) -> Iterator[Fault]:
    """Faults without end: each of them before any comes again, on any of the engines."""
    while True:
        for target, kind in chance.sample(every, len(every)):
            hit = chance.choice(ENGINES) if target == ENGINE else target
            shortest_s, longest_s = _PAUSES.get(kind, (0.0, _LONGEST_DOWN_S))
            lease_s = lease_ms / 1000 if kind in _PAUSES else 0.0
            length_s = lease_s + chance.uniform(shortest_s, longest_s)
            yield Fault(
                hit, kind, round(length_s, 2), round(chance.uniform(0.5, longest_calm_s), 2)
            )


class Breaker:
    """Inflicts faults on a stand; without a ``partition`` nothing can be cut off."""

    def __init__(
        self, stand: ClusterStand, clock: Clock, chance: Random, partition: Partition | None = None
    ) -> None:
        self._stand = stand
        self._clock = clock
        self._chance = chance
        self._partition = partition

    async def inflict(self, fault: Fault) -> list[Outage]:
        """Do it, and wait until every process takes work and every shard has an engine; the times
        when a part was surely away.
        """
        outages = await self._hit(fault)
        await self._stand.ready()
        await self._stand.all_owned()
        return outages

    async def _hit(self, fault: Fault) -> list[Outage]:
        match fault.kind:
            case "flushed":
                await asyncio.to_thread(self._flush)
                return []
            case "cut off":
                return [await self._cut_off(fault)]
            case "paused":
                return [await self._pause(fault)]
            case "set another clock":
                self._stand.services[fault.target].beside = self._another_clock(fault.target)
                return await self._end(fault, signal.SIGTERM)
            case "upgraded":
                self._stand.services[fault.target].beside = {"OKEY_EVENTS_OFF": ""}
                return await self._end(fault, signal.SIGTERM)
            case "drained":
                return await self._end(fault, signal.SIGTERM)
            case _ if fault.target == DATABASE:
                return [await self._restart_database(fault)]
            case _ if fault.target == VALKEY:
                await asyncio.to_thread(self._stand.valkey.kill)
                await asyncio.sleep(fault.length_s)
                await asyncio.to_thread(self._stand.valkey.start)
                return []
            case _:
                return await self._end(fault, signal.SIGKILL)

    async def _end(self, fault: Fault, number: signal.Signals) -> list[Outage]:
        """One life ends; the next one begins after a while."""
        service = self._stand.services[fault.target]
        service.hold()
        await service.end(number)
        began_ms = self._clock.now_ms()
        await asyncio.sleep(fault.length_s)
        service.release()
        ended_ms = max(began_ms, await service.ready())
        if number is not signal.SIGKILL or fault.target not in ENGINES:
            return []  # whoever leaves in peace has handed everything over
        return [Outage(fault.target, KILLED, began_ms, ended_ms)]

    async def _pause(self, fault: Fault) -> Outage:
        service = self._stand.services[fault.target]
        service.send(signal.SIGSTOP)
        began_ms = self._clock.now_ms()
        await asyncio.sleep(fault.length_s)
        ended_ms = self._clock.now_ms()
        service.send(signal.SIGCONT)
        return Outage(fault.target, PAUSED, began_ms, ended_ms)

    async def _cut_off(self, fault: Fault) -> Outage:
        assert self._partition is not None, "planned only where it can be done"
        direction = self._chance.choice(list(Direction))
        # The engine may learn of it no sooner than with its next renewal.
        began_ms = self._clock.now_ms() + self._stand.tempo.renew_ms
        await self._partition.cut(DATABASE_HOSTS[fault.target], direction)
        await asyncio.sleep(fault.length_s)
        ended_ms = self._clock.now_ms()
        await self._partition.heal()
        return Outage(fault.target, CUT_OFF, began_ms, max(began_ms, ended_ms))

    async def _restart_database(self, fault: Fault) -> Outage:
        server = self._stand.server
        await asyncio.to_thread(server.stop)
        began_ms = self._clock.now_ms()
        await asyncio.sleep(fault.length_s)
        ended_ms = self._clock.now_ms()
        await asyncio.to_thread(server.start)
        return Outage(DATABASE, RESTARTED, began_ms, ended_ms)

    def _flush(self) -> None:
        with Redis.from_url(self._stand.valkey.url.get_secret_value()) as client:
            client.flushall()

    def _another_clock(self, engine: str) -> Mapping[str, str]:
        """What gives the engine's next life another time of day, or the right one again."""
        if self._stand.services[engine].beside:
            return {}
        return {
            "LD_PRELOAD": str(faketime_library()),
            "FAKETIME": f"{self._chance.choice(_SKEWS_S):+d}s",
            # A machine's clock may be wrong, and still it runs evenly.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
