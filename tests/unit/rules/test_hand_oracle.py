"""Verdicts and distances against the slow judge of ``tests/oracle.py``."""

from collections import Counter

import pytest

from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.hand import classify
from okey.rules.tile import rack_text
from tests import oracle
from tests.unit.rules.hand_maker import Hand, hands

pytestmark = pytest.mark.deep

LONG_PART = 2_500


def verdict(hand: Hand) -> list[str]:
    return sorted(form.value for form in classify(*hand))


def differences(seed: int, count: int) -> list[str]:
    """The hands on which the two disagree; distance 0 must mean won as well."""
    found = []
    for tiles, okey in hands(seed, count):
        forms = oracle.forms(tiles, okey)
        near = {"normal": distance_to_normal(tiles, okey), "pairs": distance_to_cift(tiles, okey)}
        is_won_at_zero = all((steps == 0) == (form in forms) for form, steps in near.items())
        if verdict((tiles, okey)) != forms or not is_won_at_zero:
            found.append(f"{rack_text(tiles)} okey {okey}")
    return found


def test_verdicts_agree_with_the_oracle() -> None:
    """H2, H3, H4, H5, T5, T6: 2,000 random, nearly won, okey-rich and trap hands."""
    assert differences(seed=2026, count=2_000) == []


def test_the_made_hands_are_worth_comparing() -> None:
    """A maker that lost its won hands would make every comparison easy."""
    verdicts = Counter(tuple(verdict(hand)) for hand in hands(seed=2026, count=2_000))
    assert verdicts[()] > 400
    assert verdicts["normal",] > 400
    assert verdicts["pairs",] + verdicts["normal", "pairs"] > 40


@pytest.mark.long
@pytest.mark.parametrize("part", range(40))
def test_verdicts_agree_with_the_oracle_on_many_hands(part: int) -> None:
    """H2, H3, H4, H5, T5, T6: 100,000 hands, in parts."""
    assert differences(seed=100_000 + part, count=LONG_PART) == []


def test_distance_agrees_with_exchanging_tiles() -> None:
    """H2: where one exchange wins, and where it does not, the distance says so."""
    near = [
        (tiles, okey)
        for tiles, okey in hands(seed=7, count=150)
        if tiles.count(okey) < 2 and distance_to_normal(tiles, okey) > 0
    ]
    assert len(near) > 50
    for tiles, okey in near:
        is_one = distance_to_normal(tiles, okey) == 1
        assert oracle.is_within(tiles, okey, exchanges=1) == is_one, (rack_text(tiles), okey)


def wrong_distances(seed: int, count: int) -> list[str]:
    return [
        f"{rack_text(tiles)} okey {okey}"
        for tiles, okey in hands(seed, count)
        if distance_to_normal(tiles, okey) != oracle.distance(tiles, okey)
    ]


def test_distance_agrees_with_trying_all_sets_of_melds() -> None:
    """H2: any distance is 14 less the okeys and the most tiles that melds of 14 places hold."""
    assert wrong_distances(seed=11, count=36) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_distance_agrees_with_trying_all_sets_of_melds_on_many_hands(part: int) -> None:
    """H2: the same for 5,000 hands, in parts."""
    assert wrong_distances(seed=5_000 + part, count=500) == []
