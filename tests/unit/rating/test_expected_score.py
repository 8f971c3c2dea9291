"""The table of expected scores is Elo's curve, entry by entry."""

from hypothesis import given
from hypothesis import strategies as st

from okey.rating.expected_score import EXPECTED_SCORES, SCORE_UNIT, expected_score

LEADS = st.integers(min_value=-3_000_000, max_value=3_000_000)


def _curve_is_at_least(points: int, numerator: int, denominator: int) -> bool:
    """Whether 1 / (1 + 10^(-points/400)) >= numerator/denominator, in whole numbers only.

    Solved for the power, 10^(-points/400) <= (denominator - numerator) / numerator; then both sides
    to the 400th.
    """
    left: int = numerator**400
    right: int = (denominator - numerator) ** 400 * 10**points
    return left <= right


def test_every_entry_is_elos_curve_rounded_to_the_nearest_millionth() -> None:
    """R1: the table is exact."""
    for points, entry in enumerate(EXPECTED_SCORES):
        assert _curve_is_at_least(points, 2 * entry - 1, 2 * SCORE_UNIT), points
        assert not _curve_is_at_least(points, 2 * entry + 1, 2 * SCORE_UNIT), points


def test_table_goes_up_to_two_thousand_points() -> None:
    """R1: 400 points are odds of ten to one; beyond the table the last entry holds."""
    assert len(EXPECTED_SCORES) == 2_001
    assert expected_score(400_000) == 909_091
    assert expected_score(2_000_000) == expected_score(9_000_000) == 999_990


def test_lead_is_rounded_to_whole_points_a_half_away_from_zero() -> None:
    """R1: milli-points between two entries take the nearer one."""
    assert expected_score(499) == expected_score(0) == 500_000
    assert expected_score(500) == expected_score(1_499) == EXPECTED_SCORES[1]
    assert expected_score(-499) == 500_000
    assert expected_score(-500) == SCORE_UNIT - EXPECTED_SCORES[1]


def test_summed_lead_of_a_team_is_divided_before_rounding() -> None:
    """R3: a team's summed lead counts as the difference of the means."""
    assert expected_score(999, shared_by=2) == 500_000
    assert expected_score(1_000, shared_by=2) == EXPECTED_SCORES[1]
    assert expected_score(-200_000, shared_by=2) == SCORE_UNIT - EXPECTED_SCORES[100]


@given(LEADS)
def test_both_sides_share_one_win(lead: int) -> None:
    """R1: the expected scores of two sides sum to a whole win."""
    assert expected_score(lead) + expected_score(-lead) == SCORE_UNIT


@given(LEADS, LEADS)
def test_a_greater_lead_never_expects_less(one: int, other: int) -> None:
    """R1: the table never falls."""
    assert (expected_score(one) <= expected_score(other)) or one > other
