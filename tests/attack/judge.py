"""Verdicts: what an attack cost its victims, beside quiet windows and the limits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from tests.attack.inflict import Inflicted, Window
from tests.bench.figures import Spread

MOST_GROWTH: Final = 32 << 20
MOST_CPU_S: Final = 1.0
MOST_P99: Final = 2.0
LINES_EVERY_S: Final = 10.0
MOST_RUNS: Final = 3
_MAJORITY: Final = 2
FEWEST_COMMANDS: Final = 20
"""With fewer answered commands players stood still, whatever their latencies are."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """What everything costs while nobody attacks: cores by process, the median of the windows' p99
    with the least and the most, the median number of commands that such a p99 stands on, and lines
    a second by process and kind, the most of any window.
    """

    cores: Mapping[str, float]
    p99_ms: float
    p99_range_ms: tuple[float, float]
    commands: int
    lines_per_s: Mapping[tuple[str, str], float]
    windows: int
    others_cores: float

    @classmethod
    def of(cls, windows: Sequence[Window]) -> "Quiet":
        """Of these windows, which must be some."""
        if not windows:
            raise ValueError("there is no quiet window to compare with")
        names = windows[0].costs
        cores = {
            name: median(w.costs[name].cpu_s / w.seconds for w in windows if name in w.costs)
            for name in names
        }
        p99s = [p99_ms(window) for window in windows]
        lines: dict[tuple[str, str], float] = {}
        for window in windows:
            for name, cost in window.costs.items():
                for kind, count in cost.lines.items():
                    rate = count / window.seconds
                    lines[name, kind] = max(rate, lines.get((name, kind), 0.0))
        others = median(window.others_cores for window in windows)
        commands = round(median(len(window.all_s) for window in windows))
        spread = min(p99s), max(p99s)
        return cls(cores, median(p99s), spread, commands, lines, len(windows), others)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The worst of an attack, over all times that it ran; ``broken`` says which limits it broke.

    Both p99 and the number of ``commands`` that the attack's stands on are of the run whose p99
    was the median multiple of that of the quiet windows directly before it.
    """

    name: str
    growth_bytes: int
    growth_of: str
    cpu_s: float
    cpu_of: str
    p99_ms: float
    quiet_p99_ms: float
    commands: int
    lines: int
    lines_of: str
    failures: list[str]
    others_cores: float
    spent: Mapping[str, Any]
    runs: int = 1
    broken: list[str] = field(default_factory=list)
    by_process: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether every limit is kept."""
        return not self.broken


def p99_ms(window: Window) -> float:
    """The players' 99th percentile; infinite where they got nothing done."""
    latencies = window.all_s
    return 1_000 * Spread.of(latencies).p99 if len(latencies) >= FEWEST_COMMANDS else math.inf


def times_quiet(run: Inflicted) -> float:
    """How many times the p99 of the quiet windows directly before it the attack's is; infinite
    where players stood still in either.
    """
    quiet_ms = Quiet.of(run.before).p99_ms
    return p99_ms(run.window) / quiet_ms if math.isfinite(quiet_ms) else math.inf


def is_decided(runs: Sequence[Inflicted]) -> bool:
    """Whether further runs cannot change what is said of the players' p99: the first was fast
    enough, or two agree.
    """
    slow = sum(times_quiet(run) >= MOST_P99 for run in runs)
    return slow == 0 or slow >= _MAJORITY or len(runs) - slow >= _MAJORITY


def judge(name: str, runs: Sequence[Inflicted], quiet: Quiet) -> Verdict:
    """The verdict on an attack that ran once or more: the worst of memory, CPU and lines, the
    median of the p99's multiples.
    """
    growth = max((c.growth_bytes, victim) for run in runs for victim, c in run.window.costs.items())
    cpu = max((s, victim) for run in runs for victim, s in beyond_quiet(run).items())
    lines = max((each for run in runs for each in _too_many(run.window, quiet)), default=(0, ""))
    middle = sorted(runs, key=times_quiet)[len(runs) // 2]
    failures = [why for run in runs for why in run.window.failures]
    died = sorted({v for run in runs for v, c in run.window.costs.items() if c.has_died})
    errors = [run.error for run in runs if run.error]
    broken = [
        *(f"{victim} died" for victim in died),
        *(["memory"] if growth[0] >= MOST_GROWTH else []),
        *(["CPU"] if cpu[0] >= MOST_CPU_S else []),
        *(["p99"] if times_quiet(middle) >= MOST_P99 else []),
        *(["log"] if lines[0] else []),
        *([f"{len(failures)} calls of players failed"] if failures else []),
        *(f"attack did not run: {error}" for error in errors),
    ]
    return Verdict(
        *(name, *growth, *cpu, p99_ms(middle.window), Quiet.of(middle.before).p99_ms),
        *(len(middle.window.all_s), *lines),
        failures=failures,
        others_cores=max(run.window.others_cores for run in runs),
        spent=runs[0].spent,
        runs=len(runs),
        broken=broken,
        by_process=_by_process(runs),
    )


def beyond_quiet(run: Inflicted) -> dict[str, float]:
    """Seconds of CPU of each process above what it used in as long a quiet time before."""
    usual, window = Quiet.of(run.before).cores, run.window
    return {
        name: cost.cpu_s - usual.get(name, 0.0) * window.seconds
        for name, cost in window.costs.items()
    }


def _too_many(window: Window, quiet: Quiet) -> list[tuple[int, str]]:
    """Lines of a kind beyond one in ten seconds; of kinds that quiet windows have too, beyond
    twice as many as there.
    """
    found = []
    for name, cost in window.costs.items():
        for kind, count in cost.lines.items():
            usual = 2 * quiet.lines_per_s.get((name, kind), 0.0) * window.seconds
            if count > max(math.ceil(window.seconds / LINES_EVERY_S), usual):
                found.append((count, f"{name}: {kind}"))
    return found


def _by_process(runs: Sequence[Inflicted]) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for run in runs:
        cpu = beyond_quiet(run)
        for name, cost in run.window.costs.items():
            own = found.setdefault(name, {"growth_mib": 0.0, "cpu_s": 0.0, "lines": 0})
            own["growth_mib"] = max(own["growth_mib"], round(cost.growth_bytes / 2**20, 1))
            own["cpu_s"] = max(own["cpu_s"], round(cpu[name], 2))
            own["lines"] = max(own["lines"], sum(cost.lines.values()))
    return found
