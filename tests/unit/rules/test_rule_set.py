"""The house's numbers."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import pytest

from okey.rules.rule_set import (
    DEFAULT_RULE_SET,
    RULE_SETS,
    ContradictoryRuleSet,
    LeftoverKasa,
    RuleSet,
)


def test_default_turn_time_is_a_minute_within_15_and_120_seconds() -> None:
    """U4: 15..120 s per table, default 60."""
    rules = DEFAULT_RULE_SET
    assert (
        rules.min_turn_timeout_ms,
        rules.default_turn_timeout_ms,
        rules.max_turn_timeout_ms,
    ) == (
        15_000,
        60_000,
        120_000,
    )


def test_default_stake_is_50_within_50_and_250_000() -> None:
    """Ç1: 50..250,000 chips, default 50."""
    rules = DEFAULT_RULE_SET
    assert (rules.min_stake, rules.default_stake, rules.max_stake) == (50, 50, 250_000)


def test_start_points_are_3_5_10_15_or_20() -> None:
    """K1: default 20."""
    assert DEFAULT_RULE_SET.start_points_choices == (3, 5, 10, 15, 20)
    assert DEFAULT_RULE_SET.default_start_points == 20


def test_a_player_sits_at_one_table_unless_a_house_says_otherwise() -> None:
    """W3: the setting is on."""
    assert DEFAULT_RULE_SET.one_table_per_player


def test_a_house_changes_one_number_and_nothing_else() -> None:
    house = replace(DEFAULT_RULE_SET, version="2026.12-house", kasa_percent=15)
    assert house.kasa_percent == 15
    assert replace(house, version="2026.12", kasa_percent=10) == DEFAULT_RULE_SET


def test_the_newest_version_is_the_default_and_the_one_before_is_kept() -> None:
    """Ç10, Ç11, R6, R7: a field that came later reads as 0 in journals before it."""
    assert list(RULE_SETS) == ["2026.11", "2026.12"]
    assert RULE_SETS["2026.12"] is DEFAULT_RULE_SET
    assert DEFAULT_RULE_SET.leftover_kasa is LeftoverKasa.SPLIT
    before = RULE_SETS["2026.11"]
    assert not before.leftover_kasa
    assert not before.bars_given_up_seats
    assert not before.unrated_private_tables
    assert not before.meetings_window_ms


def test_a_rule_set_cannot_be_changed_in_place() -> None:
    name = "kasa_percent"
    with pytest.raises(FrozenInstanceError):
        setattr(DEFAULT_RULE_SET, name, 0)


@pytest.mark.parametrize(
    ("rule_set", "named"),
    [
        (lambda: RuleSet(default_turn_timeout_ms=14_999), "default_turn_timeout_ms 14999"),
        (lambda: RuleSet(default_turn_timeout_ms=120_001), "default_turn_timeout_ms 120001"),
        (lambda: RuleSet(min_stake=51), "default_stake 50"),
        (lambda: RuleSet(default_start_points=4), "default_start_points 4"),
        (lambda: RuleSet(kasa_percent=-1), "kasa_percent is -1"),
        (lambda: RuleSet(start_points_choices=()), "default_start_points 20"),
    ],
)
def test_contradictory_numbers_are_named(rule_set: Callable[[], RuleSet], named: str) -> None:
    with pytest.raises(ContradictoryRuleSet, match=named):
        rule_set()


def test_only_the_bot_banks_floor_may_be_negative() -> None:
    """M7: the bank may be allowed to owe before new solo tables are refused."""
    assert RuleSet(bot_bank_floor=-1).bot_bank_floor == -1
