"""Runs within one colour."""

import pytest

from okey.rules.fits import places_and_kept
from okey.rules.runs import fit_of_runs, plan_runs, points_of_runs


def vector(*numbers: int) -> int:
    return sum(1 << 4 * (number - 1) for number in numbers)


def points(*numbers: int) -> list[tuple[int, int]]:
    return [places_and_kept(point) for point in points_of_runs(vector(*numbers))]


@pytest.mark.parametrize(
    ("numbers", "gaps"),
    [
        ((), 0),
        ((1, 2, 3), 0),
        ((11, 12, 13), 0),
        ((12, 13, 1), 0),
        ((1, 2, 3, 12, 13, 1), 0),
        (tuple(range(1, 14)), 0),
        ((*range(1, 14), 1), 0),
        ((3, 4, 4, 5, 5, 6), 0),
        ((13, 1), 1),  # okey-13-1 or 12-okey-1
        ((1, 4), 2),  # 1-okey-okey-4
        ((1, 5), 3),
        ((5,), 2),
        ((1,), 2),
        ((5, 5), 4),
        ((13, 1, 2), 3),  # okey-13-1 and okey-okey-2: no wrap
        ((1, 1), 4),
        ((10, 11, 13, 1), 1),
    ],
)
def test_gaps_in_runs_that_hold_everything(numbers: tuple[int, ...], gaps: int) -> None:
    """H3, T5: the fewest places left for okeys; a 1 at either end."""
    places, kept = points(*numbers)[-1]
    assert (kept, places - kept) == (len(numbers), gaps)


@pytest.mark.parametrize(
    ("numbers", "places_by_kept"),
    [
        ((), {0: 0}),
        ((7,), {0: 0, 1: 3}),
        ((7, 8), {0: 0, 2: 3}),
        ((7, 10), {0: 0, 1: 3, 2: 4}),
        ((7, 11), {0: 0, 1: 3, 2: 5}),
        ((7, 12), {0: 0, 1: 3, 2: 6}),
        ((1, 12, 13), {0: 0, 3: 3}),
        ((1, 10), {0: 0, 1: 3, 2: 5}),  # 10-11-12-13-1
        ((1, 9), {0: 0, 1: 3, 2: 6}),
        ((5, 5, 5), {0: 0, 1: 3, 2: 6, 3: 9}),
        ((1, 2, 3, 4, 5, 6), {0: 0, 3: 3, 4: 4, 5: 5, 6: 6}),
        # Five times three places are more than a hand has.
        ((1, 1, 1, 1, 1), {0: 0, 1: 3, 2: 6, 3: 9, 4: 12}),
    ],
)
def test_points_are_the_fewest_places_for_more_tiles(
    numbers: tuple[int, ...], places_by_kept: dict[int, int]
) -> None:
    """H2, H3: the shortest runs for so many tiles, as far as a hand has places."""
    assert {kept: places for places, kept in points(*numbers)} == places_by_kept
    assert fit_of_runs(vector(*numbers)) & 1


def test_planned_runs_hold_what_was_asked_for() -> None:
    """H3: in ascending order, each with the tiles it takes."""
    runs = plan_runs(vector(1, 3, 9, 12, 13, 1), kept=5, places=6)
    assert [(run.start, run.length, run.taken.bit_count()) for run in runs] == [
        (0, 3, 2),
        (11, 3, 3),
    ]
    assert plan_runs(vector(1, 2, 3), kept=0, places=0) == ()
