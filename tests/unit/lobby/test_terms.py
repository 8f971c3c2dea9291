"""Terms: defaults filled in, one bucket for the same wishes, the rules of tables kept."""

import pytest

from okey.rules.variant import BotLevel, Mode, Variant
from okey.table.config import InvalidTableConfig
from services.lobby.terms import Terms


def test_canak_is_the_default() -> None:
    """Ç0, Ç1, U4: what is not named is Çanak, four seats, 50 chips, 60 s a turn."""
    assert Terms.of() == Terms(Variant.CANAK, Mode.NORMAL, 4, 50, 60_000, 0)


def test_klasik_starts_with_twenty_points() -> None:
    """K1: 20 points unless others are named."""
    assert Terms.of(variant=2).start_points == 20
    assert Terms.of(variant=2, start_points=5).start_points == 5


@pytest.mark.parametrize(
    "terms",
    [Terms.of(), Terms.of(variant=2, seat_count=2, stake=250_000), Terms.of(mode=3)],
)
def test_a_bucket_names_its_terms(terms: Terms) -> None:
    assert Terms.from_bucket(terms.bucket) == terms


def test_terms_that_differ_in_anything_have_other_buckets() -> None:
    all_terms = [
        Terms.of(),
        Terms.of(variant=2),
        Terms.of(mode=3),
        Terms.of(seat_count=2),
        Terms.of(stake=60),
        Terms.of(turn_timeout_ms=15_000),
        Terms.of(variant=2, start_points=3),
    ]
    assert len({terms.bucket for terms in all_terms}) == len(all_terms)


@pytest.mark.parametrize(
    ("terms", "level", "stake_limit"),
    [
        (Terms.of(mode=2, stake=10_001), BotLevel.EASY, "10000"),
        (Terms.of(mode=2, stake=50_001), BotLevel.NORMAL, "50000"),
    ],
)
def test_solo_stakes_are_limited_by_the_bots_level(
    terms: Terms, level: BotLevel, stake_limit: str
) -> None:
    """M7: the highest solo stake depends on the bots' level."""
    with pytest.raises(InvalidTableConfig, match=stake_limit):
        terms.check(level)
    terms.check(BotLevel.STRONG)


def test_klasik_seats_are_never_filled_by_bots() -> None:
    """W5: Çanak only."""
    with pytest.raises(InvalidTableConfig):
        Terms.of(variant=2).check(BotLevel.NORMAL, 5_000)
    Terms.of().check(BotLevel.NORMAL, 5_000)
