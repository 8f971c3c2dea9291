"""Runs within one colour: what it takes to put its tiles into runs (H3).

Two facts keep this small. A run of six or more is two runs side by side, so lengths 3, 4 and 5 say
it all. And what a set of runs holds depends only on how many of them cross each number: the first
run may take every tile that it crosses, a later one then has a gap there, and a gap costs the same
in either. So the lowest tile left is dropped or begins a run, or lies in the last run that fits
below 1-as-the-end.

Vectors are those of ``faces``; within this module a fourteenth place holds the 1s that end a run
after 13.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from okey.rules.faces import HAND_TILES, NIBBLE, ONES, support

_PLACES: Final = 14  # 1..13 and the 1 after 13
_LENGTHS: Final = (3, 4, 5)
_REMEMBERED: Final = (
    1 << 15
)  # vectors; a table of a hand is far below 1 kB, so this bounds the memory


class Run(NamedTuple):
    """A run in thought: ``length`` places from ``start`` (0 for number 1), ``taken`` its tiles.

    ``taken`` is a vector of ones; the places without a one are gaps for okeys or for tiles still to
    come.
    """

    start: int
    length: int
    taken: int


def gaps_to_place_all(vector: int, limit: int) -> int:
    """The least number of gaps in runs that hold all tiles of a colour; ``limit + 1`` if more."""
    if not vector:
        return 0
    fewest = limit + 1
    for split in _ace_splits(vector):
        fewest = min(fewest, _gaps(split, fewest - 1))
        if not fewest:
            break
    return fewest


def slots_by_kept(vector: int) -> tuple[int, ...]:
    """At index k: the least total length of runs that hold k tiles of a colour.

    Ascending, and only as far as the 14 places of a hand go.
    """
    tables = [_slots(split) for split in _ace_splits(vector)]
    return tables[0] if len(tables) == 1 else _best_of(tables)


def plan_runs(vector: int, kept: int) -> tuple[Run, ...]:
    """Runs of the least total length that hold ``kept`` tiles of a colour, in ascending order."""
    slots = slots_by_kept(vector)[kept]
    rest = next(split for split in _ace_splits(vector) if _reaches(split, kept, slots))
    plan = []
    while kept > 0:
        run = next(
            (
                run
                for run in _runs_from_lowest(rest)
                if _reaches(rest - run.taken, kept - run.taken.bit_count(), slots - run.length)
            ),
            None,
        )
        if run is None:
            rest = _without_lowest(rest)
        else:
            plan.append(run)
            rest -= run.taken
            kept -= run.taken.bit_count()
            slots -= run.length
    return tuple(plan)


def _ace_splits(vector: int) -> Iterator[int]:
    """The vector with none, one, ... all of its 1s moved behind the 13 (H3).

    With nothing from 10 upwards a 1 serves the low end as well as the high one.
    """
    yield vector
    if vector >> NIBBLE * 9:
        for high in range(1, (vector & 15) + 1):
            yield vector - high + (high << NIBBLE * (_PLACES - 1))


def _runs_from_lowest(vector: int) -> Iterator[Run]:
    lowest = ((vector & -vector).bit_length() - 1) // NIBBLE
    there = support(vector)
    for length in _LENGTHS:
        start = min(lowest, _PLACES - length)
        yield Run(start, length, there & _WINDOWS[length][start])


def _without_lowest(vector: int) -> int:
    """The vector less all copies of its lowest number."""
    return vector & -1 << ((vector & -vector).bit_length() - 1) // NIBBLE * NIBBLE + NIBBLE


@lru_cache(maxsize=_REMEMBERED)
def _gaps(vector: int, limit: int) -> int:
    if not vector:
        return 0
    fewest = limit + 1
    for run in _runs_from_lowest(vector):
        gaps = run.length - run.taken.bit_count()
        if gaps < fewest:
            fewest = min(fewest, gaps + _gaps(vector - run.taken, fewest - gaps - 1))
    return fewest


@lru_cache(maxsize=_REMEMBERED)
def _slots(vector: int) -> tuple[int, ...]:
    if not vector:
        return (0,)
    tables = [_slots(_without_lowest(vector))]
    for run in _runs_from_lowest(vector):
        rest = _slots(vector - run.taken)
        # Fewer tiles than the run takes need no more places than all of them.
        with_run = [run.length] * run.taken.bit_count()
        with_run += [run.length + slots for slots in rest]
        tables.append(tuple(slots for slots in with_run if slots <= HAND_TILES))
    return _best_of(tables)


def _best_of(tables: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Index by index the least of the tables, each read as far as it goes."""
    best = [HAND_TILES] * max(map(len, tables))
    for table in tables:
        for kept, slots in enumerate(table):
            if slots < best[kept]:
                best[kept] = slots
    return tuple(best)


def _reaches(vector: int, kept: int, slots: int) -> bool:
    table = _slots(vector)
    return slots >= 0 and (kept <= 0 or (kept < len(table) and table[kept] <= slots))


_WINDOWS: Final = {
    length: tuple(
        (ONES & (1 << NIBBLE * length) - 1) << NIBBLE * start
        for start in range(_PLACES - length + 1)
    )
    for length in _LENGTHS
}
"""By length and start: a one in each place that the run crosses."""
