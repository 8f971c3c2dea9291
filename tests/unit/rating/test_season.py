"""Soft resets bring ratings together and let nobody pass anybody."""

from hypothesis import given
from hypothesis import strategies as st

from okey.rating import Standing, soft_reset

RATINGS = st.integers(-500_000, 4_000_000)
PERCENT = st.integers(0, 100)
START = 1_200_000


def test_half_of_the_distance_stays_on_either_side() -> None:
    assert soft_reset(Standing(1_400_001, 30), START, 50) == Standing(1_300_000, 30)
    assert soft_reset(Standing(999_999, 30), START, 50) == Standing(1_100_000, 30)


def test_all_or_nothing_may_stay() -> None:
    assert soft_reset(Standing(1_555_555, 3), START, 100) == Standing(1_555_555, 3)
    assert soft_reset(Standing(1_555_555, 3), START, 0) == Standing(START, 3)


@given(RATINGS, RATINGS, PERCENT)
def test_nobody_passes_anybody(one: int, other: int, keep: int) -> None:
    after = [soft_reset(Standing(rating, 1), START, keep).rating_milli for rating in (one, other)]
    assert (after[0] >= after[1]) if one >= other else (after[0] <= after[1])


@given(RATINGS, PERCENT)
def test_the_distance_never_grows_nor_changes_its_side(rating: int, keep: int) -> None:
    after = soft_reset(Standing(rating, 1), START, keep).rating_milli
    assert abs(after - START) <= abs(rating - START)
    assert (after - START) * (rating - START) >= 0
