"""Matches that no table can produce are refused with the value and the rule."""

import pytest

from okey.rating import (
    CanakWon,
    ContradictoryMatch,
    KlasikWon,
    Outcome,
    RatedMatch,
    rate_match,
)
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Mode, Variant
from tests.unit.rating.matches import canak, esli, klasik, player


@pytest.mark.parametrize(
    ("variant", "mode", "seats", "message"),
    [
        (Variant.CANAK, Mode.NORMAL, 3, "match of 3 seats"),
        (Variant.KLASIK, Mode.ESLI, 4, "KLASIK ESLI: modes are Çanak's"),
        (Variant.KLASIK, Mode.SOLO, 2, "KLASIK SOLO: modes are Çanak's"),
        (Variant.CANAK, Mode.ESLI, 2, "Eşli with 2 seats"),
        (Variant.CANAK, Mode.SOLO, 2, "solo with 2 people"),
    ],
)
def test_a_match_must_be_one_of_a_table(
    variant: Variant, mode: Mode, seats: int, message: str
) -> None:
    """K1, O1, O2: number of seats, mode and owners fit the variant."""
    with pytest.raises(ContradictoryMatch, match=message):
        RatedMatch(variant, mode, (player(),) * seats)


@pytest.mark.parametrize(
    ("match", "outcome", "message"),
    [
        (canak(player(), player()), CanakWon(2), "winner_seat 2: the table has seats 0..1"),
        (canak(player(), player()), CanakWon(-1), "winner_seat -1"),
        (canak(player(), player()), KlasikWon(0, (2, 0)), "KlasikWon cannot end a CANAK"),
        (klasik(player(), player()), CanakWon(0), "CanakWon cannot end a KLASIK"),
        (klasik(player(), player()), KlasikWon(0, (2, 0, 1)), r"\[2, 0, 1\]: one number a seat"),
    ],
)
def test_an_outcome_must_be_one_of_the_match(
    match: RatedMatch, outcome: Outcome, message: str
) -> None:
    """R2: the outcome names a seat and a way to win that exist."""
    with pytest.raises(ContradictoryMatch, match=message):
        rate_match(match, outcome, DEFAULT_RULE_SET)


def test_a_klasik_winner_has_the_most_points_of_the_people_left() -> None:
    """K5, K9: a person with more refuses the outcome, a given-up seat does not."""
    outcome = KlasikWon(0, (5, 9, 3, 2))
    with pytest.raises(ContradictoryMatch, match=r"won with 5 points while a person has 9.*K5"):
        rate_match(klasik(player(), player(), player(), player()), outcome, DEFAULT_RULE_SET)
    gone = klasik(player(), player(gave_up=True), player(), player())
    assert len(rate_match(gone, outcome, DEFAULT_RULE_SET).changes) == 3


def test_esli_needs_four_seats() -> None:
    """O2: four seats are fine."""
    assert len(esli(player(), player(), player(), player()).seats) == 4
