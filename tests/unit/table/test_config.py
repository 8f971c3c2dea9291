"""What a table may be made with."""

import re
from dataclasses import replace

import pytest

from okey.rules.variant import BotLevel, Mode, Variant
from okey.table.config import InvalidTableConfig, TableConfig, check_config, solo_stake_limit
from tests.factories import TABLE_ID, canak, esli, klasik, solo


@pytest.mark.parametrize(
    "config",
    [
        TableConfig(TABLE_ID),
        canak(2),
        canak(4, stake=250_000),
        canak(2, house_fill_after_ms=1),
        esli(),
        replace(esli(), house_fill_after_ms=1),
        solo(2),
        solo(4, BotLevel.STRONG),
        *(klasik(2, points) for points in (3, 5, 10, 15, 20)),
        klasik(4),
        replace(canak(), turn_timeout_ms=15_000),
        replace(canak(), turn_timeout_ms=120_000),
    ],
)
def test_tables_that_may_be_made(config: TableConfig) -> None:
    """Ç0, Ç1, K1, U4, O1, O2: every kind, up to its limits."""
    check_config(config)


@pytest.mark.parametrize(
    ("config", "named", "allowed"),
    [
        (canak(3), "seat_count is 3", "2, 4"),
        (canak(1), "seat_count is 1", "2, 4"),
        (klasik(3), "seat_count is 3", "2, 4"),
        (canak(stake=49), "stake is 49", "50..250000"),
        (canak(stake=-50), "stake is -50", "50..250000"),
        (canak(stake=250_001), "stake is 250001", "50..250000"),
        (replace(klasik(), stake=0), "stake is 0", "50..250000"),
        (replace(canak(), turn_timeout_ms=14_999), "turn_timeout_ms is 14999", "15000..120000"),
        (replace(canak(), turn_timeout_ms=120_001), "turn_timeout_ms is 120001", "15000..120000"),
        (replace(klasik(), mode=Mode.SOLO), "mode is SOLO", "NORMAL"),
        (replace(klasik(4), mode=Mode.ESLI), "mode is ESLI", "NORMAL"),
        (klasik(points=0), "start_points is 0", "3, 5, 10, 15, 20"),
        (klasik(points=4), "start_points is 4", "3, 5, 10, 15, 20"),
        (replace(klasik(), house_fill_after_ms=1), "house_fill_after_ms is 1", "0"),
        (replace(canak(), start_points=20), "start_points is 20", "0"),
        (replace(esli(), seat_count=2), "seat_count is 2", "4"),
        (canak(house_fill_after_ms=-1), "house_fill_after_ms is -1", "0.."),
        (replace(solo(), house_fill_after_ms=1), "house_fill_after_ms is 1", "0"),
        (replace(solo(level=BotLevel.EASY), stake=10_001), "stake is 10001", "50..10000"),
        (replace(solo(level=BotLevel.NORMAL), stake=50_001), "stake is 50001", "50..50000"),
    ],
)
def test_tables_that_may_not_be_made(config: TableConfig, named: str, allowed: str) -> None:
    """Ç0, Ç1, K1, U4, M7, O1, O2, W5: setting, value and limit are named, for machines too."""
    with pytest.raises(InvalidTableConfig, match=f"^{named}; ") as refused:
        check_config(config)
    field, _, value = named.partition(" is ")
    assert refused.value.metadata == {"field": field, "value": value, "allowed": allowed}
    numbers = re.findall(r"[\d]+", allowed)
    assert all(number in str(refused.value) for number in numbers)


def test_solo_stakes_are_limited_by_the_bots_level() -> None:
    """M7: up to the limit they are allowed."""
    for level in BotLevel:
        limit = solo_stake_limit(level, canak().rules)
        check_config(replace(solo(level=level), stake=limit))


def test_the_defaults() -> None:
    """Ç0, Ç1, U4, W5: Çanak, stake 50, 60 s, no bots in free seats."""
    config = TableConfig(TABLE_ID)
    assert (config.variant, config.mode) == (Variant.CANAK, Mode.NORMAL)
    assert (config.stake, config.turn_timeout_ms, config.house_fill_after_ms) == (50, 60_000, 0)
