"""Every number that a house may want to change, in one frozen and versioned value.

The rule ids in the comments are those of ``docs/rules.md``. A table keeps the rule set it was
opened with, so a new version never changes a table that is already there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from okey.errors import InvalidInput


class ContradictoryRuleSet(InvalidInput):
    """A rule set's numbers do not fit together."""

    reason = "CONTRADICTORY_RULE_SET"


class LeftoverKasa(IntEnum):
    """Who gets a kasa that nobody can win any more (Ç10); the numbers are those of the protobuf
    enum.
    """

    SPLIT = 1  # the people who played the table's last match to the end
    HOUSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The house's numbers; chips and points are integers, times milliseconds, shares percent.

    Raises ``ContradictoryRuleSet`` for a range that excludes its own default, or a negative number
    where only ``bot_bank_floor`` may be one.

    A field that a later version added reads as 0, False or None in the journals before it, so that
    value must mean what was played then.
    """

    version: str = "2026.12"

    # Turns and clocks
    min_turn_timeout_ms: int = 15_000  # U4
    max_turn_timeout_ms: int = 120_000  # U4
    default_turn_timeout_ms: int = 60_000  # U4
    away_timeouts: int = 2  # U7: the timeout of a round at which an AI takes the seat
    away_timeout_ms: int = 90_000  # U7, U8: the time to come back
    returned_turn_min_ms: int = 10_000  # U8: who comes back in mid-turn has at least this
    abandonment_is_forfeit: bool = True  # U9
    house_turn_ms: int = 10_000  # U10: the longest an AI's seat waits for its worker
    takeover_grace_ms: int = 5_000  # an engine's take-over of a table never leaves less than this
    countdown_ms: int = 3_000  # U13: from the last stake paid to the deal
    round_pause_ms: int = 5_000  # U13: between Klasik rounds
    stockless_turns_per_seat: int = 20  # U14: for each seat playing the round

    # Waiting and sitting
    idle_close_ms: int = 1_800_000  # W1
    one_table_per_player: bool = True  # W3

    # Hands
    cift_announce_turns: int = 3  # H10: the first own turns in which çift may be announced
    cift_withdraw_turns: int = 2  # H11: own turns after the announcing one

    # Çanak
    min_stake: int = 50  # Ç1
    max_stake: int = 250_000  # Ç1
    default_stake: int = 50  # Ç1
    kasa_percent: int = 10  # Ç2: of all stakes
    bonus_percent: int = 50  # Ç5: of one stake
    nachspiel_ms: int = 60_000  # Ç9
    leftover_kasa: LeftoverKasa | None = LeftoverKasa.SPLIT  # Ç10: None is HOUSE

    # Klasik
    start_points_choices: tuple[int, ...] = (3, 5, 10, 15, 20)  # K1
    default_start_points: int = 20  # K1
    normal_points: int = 2  # K2
    special_points: int = 4  # K2: announced çift, or an okey win
    double_points: int = 8  # K2: both
    gosterge_points: int = 1  # K3
    rake_percent: int = 10  # K7: of the pot
    drawn_rounds_limit: int = 10  # K10: in a row

    # Money
    solo_stake_limit_easy: int = 10_000  # M7: the highest solo stake against easy bots
    solo_stake_limit_normal: int = 50_000  # M7
    solo_stake_limit_strong: int = 250_000  # M7
    bot_bank_floor: int = -10_000_000  # M7: chips; with less in the bank no new solo table
    forfeit_percent: int = 50  # M9: of the stake
    forfeit_stake_reserve: bool = False  # M9: whether joining asks for stake and penalty
    bars_given_up_seats: bool = True  # Ç11, K6, K9: a given-up seat wins nothing for the house

    # Rating, in milli-points unless said
    rating_start: int = 1_200_000  # R1
    rating_k_new: int = 20  # R1: in points
    rating_k_settled: int = 16  # R1: in points
    rating_new_matches: int = 20  # R1: rated matches of a ladder at the new K
    forfeit_milli_points: int = 20_000  # R5
    unrated_private_tables: bool = True  # R6
    meetings_window_ms: int = 86_400_000  # R7: in which meetings of two are counted; 0: none are

    def __post_init__(self) -> None:
        self._require_range("turn_timeout_ms", self.default_turn_timeout_ms)
        self._require_range("stake", self.default_stake)
        if self.default_start_points not in self.start_points_choices:
            raise ContradictoryRuleSet(
                f"default_start_points {self.default_start_points} is none of start_points_choices "
                f"{self.start_points_choices} (K1)"
            )
        for name in self.__slots__:
            value = getattr(self, name)
            if name != "bot_bank_floor" and isinstance(value, int) and value < 0:
                raise ContradictoryRuleSet(
                    f"{name} is {value}: only bot_bank_floor may be negative"
                )

    def _require_range(self, name: str, default: int) -> None:
        low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
        if not low <= default <= high:
            raise ContradictoryRuleSet(
                f"default_{name} {default} is outside min_{name}..max_{name}, {low}..{high}"
            )


DEFAULT_RULE_SET: Final = RuleSet()

RULE_SET_2026_11: Final = RuleSet(
    version="2026.11",
    leftover_kasa=None,
    bars_given_up_seats=False,
    unrated_private_tables=False,
    meetings_window_ms=0,
)
"""Who gave up could still win for the house, and a kasa that was left behind was the house's."""

RULE_SETS: Final[Mapping[str, RuleSet]] = MappingProxyType(
    {rules.version: rules for rules in (RULE_SET_2026_11, DEFAULT_RULE_SET)}
)
"""Every version that a table may still play by, oldest first."""
