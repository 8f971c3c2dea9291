"""One attack, measured: an attacker's process beside gauges on every victim."""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.attack.gauge import Cost, Gauge, Watched, busy_s, cpu_s
from tests.attack.players import Played
from tests.attack.raid import Aim

SETTLE_S: Final = 1.0
"""After an attack players are still watched for so long."""

_CALM_S: Final = 0.5
_CALM_CORES: Final = 0.2
_MOST_CALMING: Final = 10
"""How often at most it is asked whether victims still work on what the attack has left behind."""

_LOOK_EVERY_S: Final = 0.2
_START_S: Final = 30.0
_END_S: Final = 10.0
_EXIT_S: Final = 1.0
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
    """An attack's window, the quiet ones directly before it, and what the attacker spent; ``error``
    where it did not run.
    """

    window: Window
    before: Sequence[Window]
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
        self._latencies_s: Mapping[str, list[float]] | None = None
        self._looking = asyncio.create_task(self._look())

    def see_players(self) -> None:
        """Players are not watched any more: what they see from here on is a quiet time."""
        self._latencies_s = self._played.since(self._started_s)

    async def calm(self, usual: Mapping[str, float]) -> None:
        """Return once no victim uses more cores than in quiet times, so that what an attack leaves
        behind counts as its own; or when it has had time enough.
        """
        for _ in range(_MOST_CALMING):
            before = {name: _cpu_of(each) for name, each in self._watched.items()}
            await asyncio.sleep(_CALM_S)
            if all(
                (_cpu_of(each) - before[name]) / _CALM_S < usual.get(name, 0.0) + _CALM_CORES
                for name, each in self._watched.items()
            ):
                return

    async def end(self, attacker_cpu_s: float = 0.0) -> Window:
        """What has happened."""
        latencies = self._latencies_s
        if latencies is None:
            latencies = self._played.since(self._started_s)
        self._looking.cancel()
        await asyncio.gather(self._looking, return_exceptions=True)
        seconds = time.perf_counter() - self._started_s
        costs = {name: gauge.end() for name, gauge in self._gauges.items()}
        ours_s = _own_s(self._watched) - self._own_s + attacker_cpu_s
        others_s = busy_s() - self._busy_s - ours_s
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
    return used + sum(map(_cpu_of, watched.values()))


def _cpu_of(watched: Watched) -> float:
    """Its seconds of CPU; none where it has ended."""
    try:
        return cpu_s(watched)
    except OSError:
        return 0.0


async def quiet(watched: Mapping[str, Watched], played: Played, seconds: float) -> Window:
    """A window in which nobody attacks."""
    measuring = Measuring(watched, played)
    await asyncio.sleep(seconds)
    return await measuring.end()


async def inflict(
    name: str,
    aim: Aim,
    watched: Callable[[], Mapping[str, Watched]],
    played: Played,
    before: Sequence[Window],
    usual: Mapping[str, float],
) -> Inflicted:
    """Run the attack of that name until its victims are calm again, which is when they use no more
    than their ``usual`` cores; the attacker does not outlive this. ``before`` are the newest
    quiet windows.
    """
    attacker = await _attacker(name)
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
        await _ended(attacker)
    if measuring is None:
        measuring = Measuring(watched(), played)
    await asyncio.sleep(SETTLE_S)
    measuring.see_players()
    await measuring.calm(usual)
    window = await measuring.end(float(spent.get("cpu_s", 0.0)))
    return Inflicted(window, before, spent, error)


async def _attacker(name: str) -> asyncio.subprocess.Process:
    """Its process, which is tied to us."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(_TIED), str(os.getpid()), "-"),
        *(sys.executable, "-m", "tests.attack.attacker", name),
        stdin=PIPE,
        stdout=PIPE,
    )


async def _ended(attacker: asyncio.subprocess.Process) -> None:
    """Return once it has ended, by itself or killed."""
    try:
        async with asyncio.timeout(_EXIT_S):
            await attacker.wait()
    except TimeoutError:
        attacker.kill()
        await attacker.wait()
