"""What goes wrong in a run, and when: all of it drawn from the run's seed.

A climate is drawn for each run, so that some are stormy in one respect and calm in another; then
every message, every transaction and every process meets its own luck.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Final, TypeVar

from tests.simulation.loop import Process

T = TypeVar("T")


class Strike(Enum):
    """What befalls a process just there."""

    NOTHING = auto()
    KILL = auto()
    PAUSE = auto()


@dataclass(frozen=True, slots=True)
class Climate:
    """How likely each mishap is, by transaction or by call; means in seconds."""

    lost_there: float
    lost_back: float
    doubled: float
    late: float
    latest_s: float
    database_lost_there: float
    database_lost_back: float
    broken_streams: float
    struck: float
    crash_every_s: float
    pause_every_s: float
    outage_every_s: float

    @classmethod
    def drawn(cls, chance: Random) -> "Climate":
        """Some mishaps are rare in a run, some are common, some never happen."""

        def often(most: float) -> float:
            return chance.choice((0.0, 0.1, 0.3, 1.0)) * most

        def every(least_s: float) -> float:
            return chance.choice((1.0, 3.0, 10.0, 1_000.0)) * least_s

        return cls(
            lost_there=often(0.05),
            lost_back=often(0.05),
            doubled=often(0.10),
            late=often(0.10),
            latest_s=chance.choice((0.2, 1.0, 4.0, 12.0)),
            database_lost_there=often(0.02),
            database_lost_back=often(0.02),
            broken_streams=often(0.3),
            struck=often(0.01),
            crash_every_s=every(10.0),
            pause_every_s=every(20.0),
            outage_every_s=every(30.0),
        )


CALM: Final = Climate(0, 0, 0, 0, 0, 0, 0, 0, 0, 1e9, 1e9, 1e9)


@dataclass(frozen=True, slots=True)
class Crossing:
    """One exchange over the network: ``there_s`` of each copy that arrives, none if it is lost.

    ``before`` strikes the one who carries it out when it arrives, ``after`` when that is done, and
    ``sender`` the one who asked, when it is.
    """

    there_s: tuple[float, ...]
    back_s: float
    is_answered: bool = True
    before: Strike = Strike.NOTHING
    after: Strike = Strike.NOTHING
    sender: Strike = Strike.NOTHING


class Weather:
    """Answers what happens next; ``strike`` is called where a process is hit."""

    def __init__(self, chance: Random, climate: Climate) -> None:
        self.climate = climate
        self.strike: Callable[[Process, Strike], None] = lambda process, strike: None
        self._chance = chance

    def calm_down(self) -> None:
        """From now on nothing goes wrong."""
        self.climate = CALM

    def one_of(self, some: Sequence[T]) -> T:
        """Any of them."""
        return self._chance.choice(some)

    def hop_s(self) -> float:
        """How long a message takes."""
        chance, climate = self._chance, self.climate
        if chance.random() < climate.late:
            return chance.uniform(0.0, climate.latest_s)
        return chance.choice((0.0003, 0.001, 0.001, 0.003))

    def call(self) -> Crossing:
        """What becomes of a call to another service."""
        chance, climate = self._chance, self.climate
        copies = 2 if chance.random() < climate.doubled else 1
        if chance.random() < climate.lost_there:
            copies -= 1
        return Crossing(
            tuple(self.hop_s() for _ in range(copies)),
            self.hop_s(),
            chance.random() >= climate.lost_back,
            self._strike(),
            self._strike(),
            self._strike(),
        )

    def transaction(self) -> Crossing:
        """What becomes of a transaction."""
        chance, climate = self._chance, self.climate
        is_lost = chance.random() < climate.database_lost_there
        return Crossing(
            () if is_lost else (self.hop_s(),),
            self.hop_s(),
            chance.random() >= climate.database_lost_back,
            Strike.NOTHING,
            Strike.NOTHING,
            self._strike(),
        )

    def stream_lasts_s(self) -> float | None:
        """After how long a stream breaks; None for never."""
        if self._chance.random() < self.climate.broken_streams:
            return self._chance.expovariate(1 / 10.0)
        return None

    def _strike(self) -> Strike:
        if self._chance.random() < self.climate.struck:
            return self._chance.choice((Strike.KILL, Strike.KILL, Strike.PAUSE))
        return Strike.NOTHING
