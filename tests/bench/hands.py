"""`make bench`, hands: microseconds to judge a hand, to measure it, to find the best discard.

Every figure comes from a process of its own, in which no hand is timed twice: memory of other hands
may help, memory of the same one never does. Where it says warm, other hands were judged before:
20,000, half of them dealt and half of the kinds of the differential tests, or 1,000 dealt racks.

Times are of the processor, with its clock's own (about half a microsecond) in them. Each figure
stands beside a loop of 200 additions that was timed between the hands, so that figures of different
machines and moments compare.
"""

import gc
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from okey.bots.evaluate import Goal, best_discards
from okey.rules.distance import distance_to_normal
from okey.rules.hand import classify
from okey.rules.tile import FULL_SET, NUMBER_TILES, Tile
from tests import plain
from tests.unit.rules.hand_maker import Hand, hands, labelled_hands

ALL_UNSEEN: Final = (0, *(2 for _tile in Tile))
WARM_HANDS: Final = 20_000
WARM_RACKS: Final = 1_000
HANDS_TO_A_LOOP: Final = 20

Hands = list[Hand]
Judge = Callable[[tuple[Tile, ...], Tile], object]


def made() -> Hands:
    """Hands of the differential tests: dealt, nearly won, with two okeys, and traps."""
    return list(hands(seed=1, count=2_000))


def dealt(count: int, tiles: int = 14, seed: int = 1) -> Hands:
    """Tiles of a full set at random."""
    chance = random.Random(seed)
    return [
        (tuple(chance.sample(FULL_SET, tiles)), chance.choice(NUMBER_TILES)) for _ in range(count)
    ]


def discard_for_either(rack: tuple[Tile, ...], okey: Tile) -> object:
    """The best discards while nothing is announced, with their improving tiles."""
    return best_discards(rack, okey, Goal.EITHER, ALL_UNSEEN)


def discard_for_normal(rack: tuple[Tile, ...], okey: Tile) -> object:
    """The best discards towards runs and groups alone, with their improving tiles."""
    return best_discards(rack, okey, Goal.NORMAL, ALL_UNSEEN)


@dataclass(frozen=True)
class Case:
    """Something measured: ``judge`` on each hand once, after ``warm`` others."""

    name: str
    judge: Judge
    supply: Callable[[], Hands]
    warm: Callable[[], Hands] = list
    mean_limit_us: float = float("inf")
    p99_limit_us: float = float("inf")


def _warm_hands() -> Hands:
    return [*dealt(WARM_HANDS // 2, seed=2), *hands(seed=2, count=WARM_HANDS // 2)]


def _warm_racks() -> Hands:
    return dealt(WARM_RACKS, tiles=15, seed=2)


def _racks() -> Hands:
    return dealt(1_000, tiles=15)


def _made_racks() -> Hands:
    chance = random.Random(3)
    return [((*tiles, chance.choice(FULL_SET)), okey) for tiles, okey in made()[:1_000]]


def _dealt_hands() -> Hands:
    return dealt(2_000)


def _few_hands() -> Hands:
    return dealt(20)


CASES: Final = (
    Case("verdict, labelled, warm", classify, labelled_hands, _warm_hands, 30, 1_000),
    Case("verdict, labelled, the first hands ever", classify, labelled_hands),
    Case("verdict, differential, warm", classify, made, _warm_hands, 30, 1_000),
    Case("verdict, dealt, warm", classify, _dealt_hands, _warm_hands, 30, 1_000),
    Case("verdict, labelled, plain recursion", plain.is_normal, labelled_hands),
    Case("distance, labelled, warm", distance_to_normal, labelled_hands, _warm_hands, 35),
    Case("distance, labelled, the first hands ever", distance_to_normal, labelled_hands),
    Case("distance, differential, warm", distance_to_normal, made, _warm_hands, 35),
    Case("distance, dealt, warm", distance_to_normal, _dealt_hands, _warm_hands, 35),
    Case("distance, dealt, plain recursion", plain.distance, _few_hands),
    Case("best discard, dealt, warm", discard_for_either, _racks, _warm_racks, 10_000, 30_000),
    Case("best discard, dealt, the first racks ever", discard_for_either, _racks),
    Case("best discard, differential, warm", discard_for_either, _made_racks, _warm_racks, 10_000),
    Case("best discard to normal, dealt, warm", discard_for_normal, _racks, _warm_racks, 10_000),
)


@dataclass(frozen=True)
class Figures:
    """Microseconds of each hand, ascending, and of the loop on the way."""

    hands_us: list[float]
    loop_us: float

    @property
    def mean_us(self) -> float:
        """What a hand takes on average."""
        return statistics.fmean(self.hands_us)

    @property
    def p99_us(self) -> float:
        """What 99 of 100 hands do not exceed."""
        return self.hands_us[len(self.hands_us) * 99 // 100]


def loop() -> None:
    """What everything is compared with: 200 additions in plain Python."""
    total = 0
    for number in range(200):
        total += number


def measure(number: int) -> Figures:
    """Time the case of this number, in this process."""
    case = CASES[number]
    for tiles, okey in case.warm():
        case.judge(tiles, okey)
    # What the warming up has left behind is not the measured hands' to sweep.
    gc.collect()
    spent, loops = [], []
    for index, (tiles, okey) in enumerate(case.supply()):
        if index % HANDS_TO_A_LOOP == 0:
            start = time.process_time_ns()
            loop()
            loops.append((time.process_time_ns() - start) / 1e3)
        start = time.process_time_ns()
        case.judge(tiles, okey)
        spent.append((time.process_time_ns() - start) / 1e3)
    return Figures(sorted(spent), statistics.median(loops))


def figures() -> Iterator[Figures]:
    """The figures of each case, from a new process."""
    for number in range(len(CASES)):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=context) as process:
            yield process.submit(measure, number).result()


def main() -> None:
    """Measure and print; status 1 where a figure is above its limit."""
    console = Console(width=max(Console().width, 118))
    found = list(track(figures(), "measuring", total=len(CASES), console=console))
    sheet = Table("what", "hands", "mean µs", "limit", "median", "p99", "limit", "most", "x loop")
    is_slow = False
    for case, each in zip(CASES, found, strict=True):
        is_slow |= each.mean_us > case.mean_limit_us or each.p99_us > case.p99_limit_us
        sheet.add_row(
            case.name,
            f"{len(each.hands_us):,}",
            f"{each.mean_us:,.1f}",
            _limit(case.mean_limit_us),
            f"{statistics.median(each.hands_us):,.1f}",
            f"{each.p99_us:,.0f}",
            _limit(case.p99_limit_us),
            f"{each.hands_us[-1]:,.0f}",
            f"{each.mean_us / each.loop_us:,.1f}",
        )
    console.print(sheet)
    sys.exit(is_slow)


def _limit(limit_us: float) -> str:
    return "" if limit_us == float("inf") else f"{limit_us:,.0f}"


if __name__ == "__main__":
    main()
