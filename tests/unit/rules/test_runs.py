"""Runs within one colour."""

import pytest

from okey.rules.runs import gaps_to_place_all, plan_runs, slots_by_kept


def vector(*numbers: int) -> int:
    return sum(1 << 4 * (number - 1) for number in numbers)


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
    assert gaps_to_place_all(vector(*numbers), limit=14) == gaps


def test_gaps_beyond_the_limit_are_not_counted_out() -> None:
    """H3: with one okey nobody asks whether four or five are missing."""
    assert gaps_to_place_all(vector(5, 5), limit=1) == 2
    assert gaps_to_place_all(vector(5), limit=2) == 2
    assert gaps_to_place_all(vector(1, 4), limit=0) == 1


@pytest.mark.parametrize(
    ("numbers", "slots"),
    [
        ((), (0,)),
        ((7,), (0, 3)),
        ((7, 8), (0, 3, 3)),
        ((7, 10), (0, 3, 4)),
        ((7, 11), (0, 3, 5)),
        ((7, 12), (0, 3, 6)),
        ((1, 12, 13), (0, 3, 3, 3)),
        ((1, 10), (0, 3, 5)),  # 10-11-12-13-1
        ((1, 9), (0, 3, 6)),
        ((5, 5, 5), (0, 3, 6, 9)),
        ((1, 2, 3, 4, 5, 6), (0, 3, 3, 3, 4, 5, 6)),
        ((1, 1, 1, 1, 1), (0, 3, 6, 9, 12)),
    ],
)
def test_places_by_tiles_kept(numbers: tuple[int, ...], slots: tuple[int, ...]) -> None:
    """H2, H3: the shortest runs for any number of tiles, as far as a hand has places."""
    assert slots_by_kept(vector(*numbers)) == slots


def test_planned_runs_hold_what_was_asked_for() -> None:
    """H3: in ascending order, each with the tiles it takes."""
    runs = plan_runs(vector(1, 3, 9, 12, 13, 1), kept=5)
    assert [(run.start, run.length, run.taken.bit_count()) for run in runs] == [
        (0, 3, 2),
        (11, 3, 3),
    ]
    assert plan_runs(vector(1, 2, 3), kept=0) == ()
