"""What a table is made with; nothing of it ever changes (W1)."""

from dataclasses import dataclass

from okey.errors import InvalidInput
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import BotLevel, Mode, Variant


class InvalidTableConfig(InvalidInput):
    """A setting of a new table is outside what the rule set allows."""

    reason = "INVALID_TABLE_CONFIG"


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The settings of one table.

    ``stake`` in chips, times in milliseconds. ``start_points`` counts in Klasik only (K1) and is 0
    in Çanak; ``bot_level`` counts in SOLO only (W4). ``house_fill_after_ms`` is the wait after
    which free seats of a Çanak table get house bots, 0 for never (W5). Into a private table nobody
    gets without its invite code; who knows it is no matter of the table's.
    """

    table_id: str
    variant: Variant = Variant.CANAK
    mode: Mode = Mode.NORMAL
    seat_count: int = 4
    stake: int = DEFAULT_RULE_SET.default_stake
    turn_timeout_ms: int = DEFAULT_RULE_SET.default_turn_timeout_ms
    start_points: int = 0
    bot_level: BotLevel = BotLevel.NORMAL
    house_fill_after_ms: int = 0
    rules: RuleSet = DEFAULT_RULE_SET
    is_private: bool = False


def check_config(config: TableConfig) -> None:
    """Raise ``InvalidTableConfig`` unless the settings keep Ç0, Ç1, K1, U4, M7, O1, O2 and W5."""
    rules = config.rules
    _demand(
        config.seat_count in (2, 4),
        f"seat_count is {config.seat_count}; a table has 2 or 4 seats (Ç0, K1)",
    )
    _demand(
        rules.min_stake <= config.stake <= rules.max_stake,
        f"stake is {config.stake} chips; it lies between {rules.min_stake} "
        f"and {rules.max_stake} (Ç1)",
    )
    _demand(
        rules.min_turn_timeout_ms <= config.turn_timeout_ms <= rules.max_turn_timeout_ms,
        f"turn_timeout_ms is {config.turn_timeout_ms}; it lies between "
        f"{rules.min_turn_timeout_ms} and {rules.max_turn_timeout_ms} (U4)",
    )
    if config.variant is Variant.KLASIK:
        _check_klasik(config)
    else:
        _check_canak(config)


def _check_klasik(config: TableConfig) -> None:
    choices = config.rules.start_points_choices
    _demand(
        config.mode is Mode.NORMAL,
        f"mode is {config.mode.name}; Klasik has neither SOLO nor ESLI (K1)",
    )
    _demand(
        config.start_points in choices,
        f"start_points is {config.start_points}; choose one of {', '.join(map(str, choices))} (K1)",
    )
    _demand(
        config.house_fill_after_ms == 0,
        f"house_fill_after_ms is {config.house_fill_after_ms}; "
        "Klasik seats are never filled by bots (W5)",
    )


def _check_canak(config: TableConfig) -> None:
    _demand(
        config.start_points == 0,
        f"start_points is {config.start_points}; Çanak has none, send 0 (K1)",
    )
    _demand(
        config.mode is not Mode.ESLI or config.seat_count == 4,
        f"seat_count is {config.seat_count}; Eşli needs 4 seats (O2)",
    )
    _demand(
        config.house_fill_after_ms >= 0
        and (config.house_fill_after_ms == 0 or config.mode is not Mode.SOLO),
        f"house_fill_after_ms is {config.house_fill_after_ms}; "
        "it is 0 or a wait, and 0 in SOLO (W5)",
    )
    if config.mode is Mode.SOLO:
        limit = solo_stake_limit(config.bot_level, config.rules)
        _demand(
            config.stake <= limit,
            f"stake is {config.stake} chips; "
            f"against {config.bot_level.name} bots it is at most {limit} (M7)",
        )


def solo_stake_limit(level: BotLevel, rules: RuleSet) -> int:
    """The highest stake, in chips, of a solo table against bots of this level (M7)."""
    return {
        BotLevel.EASY: rules.solo_stake_limit_easy,
        BotLevel.NORMAL: rules.solo_stake_limit_normal,
        BotLevel.STRONG: rules.solo_stake_limit_strong,
    }[level]


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvalidTableConfig(otherwise)
