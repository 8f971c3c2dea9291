"""One attack, measured: an attacker's process beside gauges on every victim."""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.attack.gauge import Cost, Gauge, Watched, busy_s, cpu_s
from tests.attack.players import Played
from tests.attack.raid import Aim

SETTLE_S: Final = 1.0
"""After an attack, so that what it leaves behind to do counts as its own."""

_LOOK_EVERY_S: Final = 0.2
_START_S: Final = 30.0
_END_S: Final = 10.0
_TIED: Final = Path(__file__).parents[2] / "services" / "standalone" / "tied.py"


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in a stretch of time: each victim's cost, players' latencies by way, their
    failures, and how many cores other programs of the machine used.
    """

    seconds: float
    costs: Mapping[str, Cost]
    latencies_s: Mapping[str, list[float]]
    failures: list[str]
    others_cores: float

    @property
    def all_s(self) -> list[float]:
        """Latencies of all ways."""
        return [each for own in self.latencies_s.values() for each in own]


@dataclass(frozen=True, slots=True)
class Inflicted:
    """An attack's window, and what the attacker spent; ``error`` where it did not run."""

    window: Window
    spent: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class Measuring:
    """Gauges on everything from now until ``end``."""

    def __init__(self, watched: Mapping[str, Watched], played: Played) -> None:
        self._watched = watched
        self._played = played
        self._gauges = {name: Gauge(own) for name, own in watched.items()}
        for gauge in self._gauges.values():
            gauge.begin()
        self._busy_s, self._own_s = busy_s(), _own_s(watched)
        self._started_s = time.perf_counter()
        self._looking = asyncio.create_task(self._look())

    async def end(self, attacker_cpu_s: float = 0.0) -> Window:
        """What has happened."""
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)
        seconds = time.perf_counter() - self._started_s
        costs = {name: gauge.end() for name, gauge in self._gauges.items()}
        ours_s = _own_s(self._watched) - self._own_s + attacker_cpu_s
        others_s = busy_s() - self._busy_s - ours_s
        latencies = self._played.since(self._started_s)
        failures = [why for at_s, why in self._played.failures if at_s >= self._started_s]
        return Window(seconds, costs, latencies, failures, max(0.0, others_s / seconds))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            for gauge in self._gauges.values():
                gauge.look()


def _own_s(watched: Mapping[str, Watched]) -> float:
    """Seconds of CPU of the victims and of ourselves."""
    used = time.process_time()
    for each in watched.values():
        with suppress(OSError):
            used += cpu_s(each)
    return used


async def quiet(watched: Mapping[str, Watched], played: Played, seconds: float) -> Window:
    """A window in which nobody attacks."""
    measuring = Measuring(watched, played)
    await asyncio.sleep(seconds)
    return await measuring.end()


async def inflict(
    name: str, aim: Aim, watched: Callable[[], Mapping[str, Watched]], played: Played
) -> Inflicted:
    """Run the attack of that name, and a moment more; the attacker does not outlive this."""
    attacker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_TIED), str(os.getpid()), "-"),
        *(sys.executable, "-m", "tests.attack.attacker", name),
        stdin=PIPE,
        stdout=PIPE,
    )
    assert attacker.stdin is not None
    assert attacker.stdout is not None
    measuring: Measuring | None = None
    spent: Mapping[str, Any] = {}
    error = ""
    try:
        attacker.stdin.write(json.dumps(asdict(aim)).encode() + b"\n")
        async with asyncio.timeout(_START_S):
            line = await attacker.stdout.readline()
        if line != b"ready\n":
            raise ValueError(f"the attacker did not get ready, and said {line!r}")
        measuring = Measuring(watched(), played)
        attacker.stdin.write(b"go\n")
        async with asyncio.timeout(aim.seconds + _END_S):
            spent = json.loads(await attacker.stdout.readline())
    except (OSError, ValueError, TimeoutError) as failure:
        error = f"{type(failure).__name__} {failure}"
    finally:
        if attacker.returncode is None:
            with suppress(ProcessLookupError):
                attacker.kill()
            await attacker.wait()
    if measuring is None:
        measuring = Measuring(watched(), played)
    await asyncio.sleep(SETTLE_S)
    return Inflicted(await measuring.end(float(spent.get("cpu_s", 0.0))), spent, error)
