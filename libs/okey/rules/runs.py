"""Runs within one colour: what it takes to put its tiles into runs (H3).

Two facts keep this small. A run of six or more is two runs side by side, so lengths 3, 4 and 5 say
it all. And what a set of runs holds depends only on how many of them cross each number: the first
run may take every tile that it crosses, a later one then has a gap there, and a gap costs the same
in either. So the lowest tile left is dropped or begins a run, or lies in the last run that fits
below 1-as-the-end. That last run holds what a run from the lowest tile would hold if the numbers
went on, so only the distances between the tiles matter, not where they stand.

Vectors are those of ``faces``; within this module a fourteenth place holds the 1s that end a run
after 13. What was worked out is remembered for 32,768 vectors a function, each entry below 1 kB.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from okey.rules.faces import NIBBLE, ONES, support
from okey.rules.fits import AT_LEAST, NOTHING, WITHIN_HAND, Points, point, points_of

_PLACES: Final = 14  # 1..13 and the 1 after 13
_LENGTHS: Final = (3, 4, 5)
_REMEMBERED: Final = 1 << 15


class Run(NamedTuple):
    """A run in thought: ``length`` places from ``start`` (0 for number 1), ``taken`` its tiles.

    ``taken`` is a vector of ones; the places without a one are gaps for okeys or for tiles still to
    come.
    """

    start: int
    length: int
    taken: int


def fit_of_runs(vector: int) -> int:
    """The fit of all runs of a colour (see ``fits``)."""
    fit = _fit(vector)
    for split in _with_high_aces(vector):
        fit |= _fit(split)
    return fit


@lru_cache(maxsize=_REMEMBERED)
def points_of_runs(vector: int) -> Points:
    """The points of ``fit_of_runs`` that no other beats."""
    return points_of(fit_of_runs(vector))


def plan_runs(vector: int, kept: int, places: int) -> tuple[Run, ...]:
    """Runs on at most so many places that hold ``kept`` tiles of a colour, in ascending order.

    There must be such runs.
    """
    splits = (vector, *_with_high_aces(vector))
    rest = next(split for split in splits if _reaches(split, kept, places))
    plan = []
    while kept > 0:
        run = next(
            (
                run
                for run in _runs_from_lowest(rest)
                if _reaches(rest - run.taken, kept - run.taken.bit_count(), places - run.length)
            ),
            None,
        )
        if run is None:
            rest &= -1 << _shift(rest) + NIBBLE
        else:
            plan.append(run)
            rest -= run.taken
            kept -= run.taken.bit_count()
            places -= run.length
    return tuple(plan)


def _with_high_aces(vector: int) -> Iterable[int]:
    """The vector with one, two, ... all of its 1s moved behind the 13 (H3).

    With nothing from 10 upwards a 1 serves the low end as well as the high one.
    """
    if not vector & 15 or not vector >> NIBBLE * 9:
        return ()
    behind = (1 << NIBBLE * (_PLACES - 1)) - 1
    return (vector + high * behind for high in range(1, (vector & 15) + 1))


def _runs_from_lowest(vector: int) -> Iterator[Run]:
    lowest = _shift(vector) // NIBBLE
    there = support(vector)
    for length in _LENGTHS:
        start = min(lowest, _PLACES - length)
        yield Run(start, length, there & _WINDOWS[length][start])


def _shift(vector: int) -> int:
    """Where the lowest number of ``vector`` is counted."""
    return ((vector & -vector).bit_length() - 1) // NIBBLE * NIBBLE


def _fit(vector: int) -> int:
    return _fit_from_lowest(vector >> _shift(vector)) if vector else NOTHING


@lru_cache(maxsize=_REMEMBERED)
def _fit_from_lowest(vector: int) -> int:
    """The fit of tiles of which the lowest is in the first place."""
    fit = _fit(vector >> NIBBLE)
    there, before = support(vector), 0
    for window, empty in _FROM_LOWEST:
        taken = there & window
        # A longer run that takes no more tiles is no use.
        if taken != before:
            fit |= _fit(vector - taken) << empty + taken.bit_count()
            before = taken
    return fit & WITHIN_HAND


def _reaches(vector: int, kept: int, places: int) -> bool:
    return places >= 0 and (kept <= 0 or bool(_fit(vector) & AT_LEAST[places][kept]))


_WINDOWS: Final = {
    length: tuple(
        (ONES & (1 << NIBBLE * length) - 1) << NIBBLE * start
        for start in range(_PLACES - length + 1)
    )
    for length in _LENGTHS
}
"""By length and start: a one in each place that the run crosses."""

_FROM_LOWEST: Final = tuple((_WINDOWS[length][0], point(length, 0)) for length in _LENGTHS)
"""The runs that the lowest number may begin."""
