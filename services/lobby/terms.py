"""What a table is played for and how: the settings by which players find each other."""

from dataclasses import dataclass
from typing import Final, Self

from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import BotLevel, Mode, Variant
from okey.table.config import TableConfig, check_config

DEFAULT_SEAT_COUNT: Final = 4
_CHECKED_ONLY: Final = "checked-only"


@dataclass(frozen=True, slots=True)
class Terms:
    """A table's settings with every default filled in; ``stake`` in chips, ``turn_timeout_ms`` in
    milliseconds.
    """

    variant: Variant
    mode: Mode
    seat_count: int
    stake: int
    turn_timeout_ms: int
    start_points: int

    @classmethod
    def of(
        cls,
        *,
        variant: int = 0,
        mode: int = 0,
        seat_count: int = 0,
        stake: int = 0,
        turn_timeout_ms: int = 0,
        start_points: int = 0,
        rules: RuleSet = DEFAULT_RULE_SET,
    ) -> Self:
        """The settings named, a default for each that is 0: Çanak (Ç0), NORMAL, 4 seats, Ç1, U4,
        K1.
        """
        chosen = Variant(variant or Variant.CANAK)
        default_points = rules.default_start_points if chosen is Variant.KLASIK else 0
        return cls(
            chosen,
            Mode(mode or Mode.NORMAL),
            seat_count or DEFAULT_SEAT_COUNT,
            stake or rules.default_stake,
            turn_timeout_ms or rules.default_turn_timeout_ms,
            start_points or default_points,
        )

    @property
    def bucket(self) -> str:
        """The name under which tickets for the same terms wait; ``from_bucket`` reads it back."""
        return (
            f"{int(self.variant)}.{int(self.mode)}.{self.seat_count}.{self.stake}"
            f".{self.turn_timeout_ms}.{self.start_points}"
        )

    @classmethod
    def from_bucket(cls, bucket: str) -> Self:
        """The terms that a bucket's name stands for."""
        variant, mode, seat_count, stake, turn_timeout_ms, start_points = map(
            int, bucket.split(".")
        )
        return cls(Variant(variant), Mode(mode), seat_count, stake, turn_timeout_ms, start_points)

    def check(self, bot_level: BotLevel, house_fill_after_ms: int = 0) -> None:
        """Return if a table may be made with these terms.

        Raises:
            InvalidTableConfig: they break Ç0, Ç1, K1, M7, O1, O2, U4 or W5.
        """
        check_config(
            TableConfig(
                table_id=_CHECKED_ONLY,
                variant=self.variant,
                mode=self.mode,
                seat_count=self.seat_count,
                stake=self.stake,
                turn_timeout_ms=self.turn_timeout_ms,
                start_points=self.start_points,
                bot_level=bot_level,
                house_fill_after_ms=house_fill_after_ms,
            )
        )
