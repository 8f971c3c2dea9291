"""What a table is made with; nothing of it ever changes (W1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from okey.errors import InvalidInput
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import BotLevel, Mode, Variant


class InvalidTableConfig(InvalidInput):
    """A setting of a new table is outside what the rule set allows.

    ``metadata`` names it for machines: ``field``, ``value``, and what is ``allowed``, a range
    (``50..250000``) or the choices (``2, 4``).
    """

    reason = "INVALID_TABLE_CONFIG"

    def __init__(self, field: str, value: object, allowed: str, rule: str) -> None:
        super().__init__(f"{field} is {value}; {rule}")
        self._limit = {"field": field, "value": str(value), "allowed": allowed}

    @property
    def metadata(self) -> Mapping[str, str]:
        """The field, its value, and what is allowed."""
        return self._limit


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
        "seat_count",
        config.seat_count,
        "2, 4",
        "a table has 2 or 4 seats (Ç0, K1)",
    )
    _demand_within("stake", config.stake, rules.min_stake, rules.max_stake, "in chips (Ç1)")
    _demand_within(
        "turn_timeout_ms",
        config.turn_timeout_ms,
        rules.min_turn_timeout_ms,
        rules.max_turn_timeout_ms,
        "in milliseconds (U4)",
    )
    if config.variant is Variant.KLASIK:
        _check_klasik(config)
    else:
        _check_canak(config)


def _check_klasik(config: TableConfig) -> None:
    points, choices = config.start_points, config.rules.start_points_choices
    allowed = ", ".join(map(str, choices))
    mode, fill_ms = config.mode, config.house_fill_after_ms
    klasik_mode = "Klasik has neither SOLO nor ESLI (K1)"
    _demand(mode is Mode.NORMAL, "mode", mode.name, Mode.NORMAL.name, klasik_mode)
    _demand(points in choices, "start_points", points, allowed, f"choose one of {allowed} (K1)")
    never = "Klasik seats are never filled by bots, send 0 (W5)"
    _demand(fill_ms == 0, "house_fill_after_ms", fill_ms, "0", never)


def _check_canak(config: TableConfig) -> None:
    points, fill_ms = config.start_points, config.house_fill_after_ms
    _demand(points == 0, "start_points", points, "0", "Çanak has none, send 0 (K1)")
    has_sides = config.mode is not Mode.ESLI or config.seat_count == 4
    _demand(has_sides, "seat_count", config.seat_count, "4", "Eşli needs 4 seats (O2)")
    if config.mode is Mode.SOLO:
        _demand(fill_ms == 0, "house_fill_after_ms", fill_ms, "0", "in SOLO it is 0 (W5)")
        level, lowest = config.bot_level, config.rules.min_stake
        limit = solo_stake_limit(level, config.rules)
        against = f"in chips against {level.name} bots (M7)"
        _demand_within("stake", config.stake, lowest, limit, against)
    _demand(
        fill_ms >= 0,
        "house_fill_after_ms",
        fill_ms,
        "0..",
        "it is a wait of 0 milliseconds or more, 0 for never (W5)",
    )


def solo_stake_limit(level: BotLevel, rules: RuleSet) -> int:
    """The highest stake, in chips, of a solo table against bots of this level (M7)."""
    return {
        BotLevel.EASY: rules.solo_stake_limit_easy,
        BotLevel.NORMAL: rules.solo_stake_limit_normal,
        BotLevel.STRONG: rules.solo_stake_limit_strong,
    }[level]


def _demand(holds: bool, field: str, value: object, allowed: str, rule: str) -> None:
    if not holds:
        raise InvalidTableConfig(field, value, allowed, rule)


def _demand_within(field: str, value: int, least: int, most: int, rule: str) -> None:
    within = f"it lies between {least} and {most}, {rule}"
    _demand(least <= value <= most, field, value, f"{least}..{most}", within)
