"""What one player has on one ladder, and what a change makes of it (R1)."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from okey.rules.rule_set import RuleSet


class Ladder(IntEnum):
    """A ranking of its own; every rated match counts on its variant's ladder and on OVERALL."""

    CANAK = 1
    KLASIK = 2
    OVERALL = 3


class ChangeKind(IntEnum):
    """Why a rating changed; the numbers are those of ``okey.api.rating.v1.ChangeKind``."""

    MATCH = 1
    FORFEIT = 2
    COMPENSATION = 3
    SEASON_RESET = 4


class Sink(StrEnum):
    """Where rating that does not sum to zero is booked, so that inflation can be seen (R5)."""

    FORFEITS = "forfeits"
    SEASONS = "seasons"


@dataclass(frozen=True, slots=True)
class Standing:
    """A rating in milli-points, and how many rated matches of the ladder stand behind it."""

    rating_milli: int
    rated_matches: int

    def after(self, delta_milli: int) -> "Standing":
        """The standing after one more rated match; a forfeit counts as one (R1)."""
        return Standing(self.rating_milli + delta_milli, self.rated_matches + 1)

    def is_provisional(self, rules: RuleSet) -> bool:
        """Whether the player still moves at the K of the first matches (R1)."""
        return self.rated_matches < rules.rating_new_matches

    def k(self, rules: RuleSet) -> int:
        """The player's K in points, before it is averaged over a pairing (R1)."""
        return rules.rating_k_new if self.is_provisional(rules) else rules.rating_k_settled


def starting_standing(rules: RuleSet) -> Standing:
    """The standing of who has not played on a ladder yet (R1)."""
    return Standing(rules.rating_start, 0)
