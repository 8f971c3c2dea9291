"""What a rebuild finds where the database is not what its events give."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from okey.rating import Ladder


class DifferenceKind(IntEnum):
    """What differs; the numbers are those of ``okey.api.rating.v1.DifferenceKind``."""

    CHANGE = 1
    CHAIN = 2
    RESET = 3
    SINK = 4
    RATING = 5
    RATED_MATCHES = 6
    SECTION = 7
    COUNT = 8
    EVENT = 9
    SEASON = 11
    MEETING = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not what the events give; ratings in milli-points."""

    kind: DifferenceKind
    subject: str
    match_id: str = ""
    ladder: Ladder | None = None
    season: int = 0
    expected: int = 0
    actual: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one step is."""

    step: str
    done: int
    total: int


Tell = Callable[[Progress], None]


def tell_nobody(progress: Progress) -> None:
    """For who does not ask."""
