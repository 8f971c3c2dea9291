"""The recursion over the turns left: what it must say whatever its constants are."""

import math
from itertools import pairwise

import pytest

from okey.bots.chances import LONGEST, Company, chances_in, next_turn, shifted

ONE, THREE = Company(1), Company(3)
TEAM = Company(2, 1)
SHARES = [step / 20 for step in range(21)]


@pytest.mark.parametrize("company", [ONE, THREE, TEAM])
@pytest.mark.parametrize("is_cift", [False, True])
def test_the_nearer_the_likelier_and_the_more_that_helps_the_likelier(
    company: Company, is_cift: bool
) -> None:
    chances = chances_in(company, is_cift=is_cift)
    for turn in (0, 5, 12):
        for share in SHARES[1:-1]:
            by_distance = [chances.waiting(distance, share, turn) for distance in range(7)]
            assert by_distance == sorted(by_distance, reverse=True)
        for distance in range(1, 7):
            by_share = [chances.waiting(distance, share, turn) for share in SHARES]
            assert by_share == sorted(by_share)
            assert 0 <= by_share[0] <= by_share[-1] <= 1


def test_a_won_hand_is_certain_and_the_last_turn_is_the_last() -> None:
    chances = chances_in(ONE)
    assert chances.waiting(0, 0.0, 3) == 1
    assert chances.waiting(2, 0.9, LONGEST) == 0
    assert chances.waiting(2, 0.9, LONGEST + 7) == chances.waiting(2, 0.9, LONGEST)


def test_a_distance_beyond_the_furthest_counts_as_that() -> None:
    chances = chances_in(ONE)
    assert chances.waiting(9, 0.4, 2) == chances.waiting(6, 0.4, 2)
    assert chances.drawing(9, 0.4, 2) <= chances.drawing(6, 0.4, 2)


def test_more_opponents_leave_less_and_a_partner_wins_with_one() -> None:
    """O2: one finish wins for both."""
    against_one, against_three, in_team = (
        chances_in(company).waiting(2, 0.2, 5) for company in (ONE, THREE, TEAM)
    )
    assert against_three < in_team
    assert against_three < against_one
    assert chances_in(TEAM).undisturbed(6) == chances_in(THREE).undisturbed(6)


def test_the_longer_a_round_is_the_likelier_somebody_finishes() -> None:
    found = [chances_in(THREE).undisturbed(turn) for turn in range(25)]
    assert all(later <= earlier for earlier, later in pairwise(found))


def test_the_next_turn_is_worth_more_than_one_draw() -> None:
    """U1: the neighbour's discard is one of two places to draw from."""
    for is_last in (True, False):
        assert next_turn(0.0, is_last=is_last) == 0
        assert 0.1 < next_turn(0.1, is_last=is_last) < 0.2
        assert next_turn(1.0, is_last=is_last) == 1


def test_the_draw_from_the_stock_is_the_shares_part_of_coming_nearer() -> None:
    chances = chances_in(ONE)
    assert chances.drawing(1, 1.0, 4) == 1
    sure, never = chances.drawing(2, 1.0, 4), chances.drawing(2, 0.0, 4)
    assert never < chances.drawing(2, 0.5, 4) < sure


def test_odds_are_shifted_and_certainty_stays_certain() -> None:
    assert shifted(0.5, math.log(3)) == pytest.approx(0.75)
    assert shifted(0.75, -math.log(3)) == pytest.approx(0.5)
    assert [shifted(sure, 2.0) for sure in (0.0, 1.0)] == [0.0, 1.0]
