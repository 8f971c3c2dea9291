"""What a series of deals says, with how sure it is: every interval is for 95 %."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from okey.arena.contest import DealResult
from okey.rules.finish import FinishKind

_Z: Final = 1.959964
"""The normal distribution's 97.5 % point; series are long enough for it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the interval that holds the true one in 95 of 100 series."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figures:
    """A contest from the challenger's side.

    ``round_wins`` and ``match_wins`` are shares of the decided ones; ``chips`` and ``points`` are
    the lead over the opponents' mean, a match. A share of nothing is None.
    """

    deals: int
    matches: int
    drawn_matches: int
    rounds: int
    drawn_rounds: int
    won: Counter[FinishKind]
    lost: Counter[FinishKind]
    round_wins: Estimate | None
    match_wins: Estimate | None
    chips: Estimate
    points: Estimate


def summarise(results: Sequence[DealResult]) -> Figures:
    """The figures of one deal or more."""
    won: Counter[FinishKind] = Counter()
    lost: Counter[FinishKind] = Counter()
    for result in results:
        won.update(result.won)
        lost.update(result.lost)
    rounds = sum(result.rounds for result in results)
    matches = sum(result.matches for result in results)
    decided = sum(result.matches_won + result.matches_lost for result in results)
    per_deal = [(sum(result.won.values()), sum(result.lost.values())) for result in results]
    return Figures(
        deals=len(results),
        matches=matches,
        drawn_matches=matches - decided,
        rounds=rounds,
        drawn_rounds=rounds - won.total() - lost.total(),
        won=won,
        lost=lost,
        round_wins=share(per_deal),
        match_wins=share([(result.matches_won, result.matches_lost) for result in results]),
        chips=mean([result.chips / result.matches for result in results]),
        points=mean([result.points / result.matches for result in results]),
    )


def share(per_deal: Sequence[tuple[int, int]]) -> Estimate | None:
    """The share won of what was decided, from (won, lost) of each deal; None if nothing was.

    Wilson's interval, which also works near 0 and 1, for as many independent decisions as would be
    as uncertain as these deals are: matches of one deal hang together.
    """
    won = sum(wins for wins, _ in per_deal)
    decided = won + sum(losses for _, losses in per_deal)
    if not decided:
        return None
    rate = won / decided
    size = decided / _design_effect(per_deal, rate, decided)
    middle = (rate + _Z**2 / (2 * size)) / (1 + _Z**2 / size)
    spread = _Z / (1 + _Z**2 / size) * math.sqrt(rate * (1 - rate) / size + (_Z / (2 * size)) ** 2)
    # At 0 and 1 the interval ends where the rate is, but for the last digit of a float.
    return Estimate(
        rate, max(0.0, min(rate, middle - spread)), min(1.0, max(rate, middle + spread))
    )


def mean(values: Sequence[float]) -> Estimate:
    """The mean of one value a deal; of a single deal nothing is known about its spread."""
    count = len(values)
    centre = math.fsum(values) / count
    if count == 1:
        return Estimate(centre, -math.inf, math.inf)
    variance = math.fsum((value - centre) ** 2 for value in values) / (count - 1)
    spread = _Z * math.sqrt(variance / count)
    return Estimate(centre, centre - spread, centre + spread)


def _design_effect(per_deal: Sequence[tuple[int, int]], rate: float, decided: int) -> float:
    """The variance of the share between deals over that of independent decisions; 1 if unknown."""
    count = len(per_deal)
    independent = decided * rate * (1 - rate)
    if count < 2 or not independent:
        return 1.0
    residuals = (wins - rate * (wins + losses) for wins, losses in per_deal)
    between = math.fsum(residual**2 for residual in residuals) * count / (count - 1)
    return max(between / independent, 1 / decided)
