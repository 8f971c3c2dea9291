"""What may be concluded from a series of deals: the deal is the unit, intervals are for 95 %."""

from collections import Counter
from dataclasses import replace
from math import inf
from random import Random

import pytest

from okey.arena.contest import DealResult
from okey.arena.figures import mean, share, summarise
from okey.rules.finish import FinishKind


def test_independent_decisions_give_wilsons_interval() -> None:
    """30 of 50, one decision a deal: the textbook's 0.462 to 0.724."""
    found = share([(1, 0)] * 30 + [(0, 1)] * 20)
    assert found is not None
    assert found.value == 0.6
    assert (found.low, found.high) == pytest.approx((0.462, 0.724), abs=0.003)


def test_winning_always_is_not_certainty() -> None:
    found = share([(2, 0)] * 50)
    assert found is not None
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.963, abs=0.001)


def test_of_one_deal_and_of_nothing_decided() -> None:
    found = share([(1, 1)])
    assert found is not None
    assert found.low < 0.1 < 0.9 < found.high
    assert share([(0, 0)]) is None


def test_deals_and_not_matches_are_the_statistical_unit() -> None:
    """The same wins are less sure if both matches of a deal went alike, surer if one each."""
    alike, apart = share([(2, 0), (0, 2)] * 100), share([(1, 1)] * 199 + [(2, 0), (0, 2)])
    alone = share([(1, 0), (0, 1)] * 200)
    assert alike is not None
    assert apart is not None
    assert alone is not None
    widths = [found.high - found.low for found in (apart, alone, alike)]
    assert widths == sorted(widths)
    assert widths[2] == pytest.approx(widths[1] * 2**0.5, rel=0.02)


def test_the_interval_of_a_mean() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5
    assert found.high - found.value == pytest.approx(1.959964 * (5 / 3 / 4) ** 0.5)
    assert (mean([7.0]).low, mean([7.0]).high) == (-inf, inf)


@pytest.mark.parametrize("rate", [0.5, 0.7])
def test_nineteen_of_twenty_intervals_hold_the_truth(rate: float) -> None:
    chance = Random(1)
    held = 0
    for _ in range(400):
        # Both matches of a deal share its luck, so they go alike more often than not.
        deals = []
        for _ in range(60):
            luck = rate if chance.random() < 0.5 else chance.random() < rate
            wins = sum(chance.random() < luck for _ in range(2))
            deals.append((wins, 2 - wins))
        found = share(deals)
        assert found is not None
        held += found.low <= rate <= found.high
    assert 0.92 <= held / 400 <= 0.98


NORMAL_WIN = DealResult(
    matches=2,
    rounds=2,
    won={FinishKind.NORMAL: 1},
    lost={},
    matches_won=1,
    matches_lost=0,
    chips=90.0,
    points=0.0,
)
"""One of two matches won, the other drawn."""


def test_draws_stand_apart_and_leads_are_a_match() -> None:
    """Ç7: a draw is no decision."""
    even = replace(NORMAL_WIN, lost={FinishKind.OKEY: 1}, matches_lost=1, chips=-20.0)
    figures = summarise([NORMAL_WIN, even])
    assert (figures.deals, figures.matches, figures.drawn_matches) == (2, 4, 1)
    assert (figures.rounds, figures.drawn_rounds) == (4, 1)
    assert (figures.won, figures.lost) == (
        Counter({FinishKind.NORMAL: 2}),
        Counter({FinishKind.OKEY: 1}),
    )
    assert figures.chips.value == (45.0 - 10.0) / 2
    assert figures.match_wins is not None
    assert figures.match_wins.value == pytest.approx(2 / 3)
    assert summarise([replace(NORMAL_WIN, won={}, matches_won=0)]).round_wins is None
