"""What a day of bought rating brings: a star meets its own mules once a minute, and each gives up.

``python -m tests.farm`` prints the figures before and after version 2026.12 of the rule set. A star
can be sure to meet its mules only behind an invite code; the public rows are for comparison.
"""

import sys
from collections import Counter
from typing import Final

from okey.rating import (
    CanakWon,
    Departure,
    Participant,
    RatedMatch,
    rate_forfeit,
    rate_match,
    starting_standing,
)
from okey.rules.rule_set import RULE_SETS, RuleSet
from okey.rules.variant import Mode, Variant

MINUTES: Final = 24 * 60
FRESH: Final = MINUTES
"""As many mules as there are matches: a new guest each minute."""


def farmed_milli(rules: RuleSet, mules: int, *, is_private: bool, minutes: int = MINUTES) -> int:
    """What the star gains in these minutes, in milli-points, from ``mules`` who take turns."""
    star = starting_standing(rules)
    standings = dict.fromkeys(range(mules), star)
    met: Counter[int] = Counter()
    for minute in range(minutes):
        mule = minute % mules
        seats = (Participant(star), Participant(standings[mule], Departure.FORFEITED))
        match = RatedMatch(Variant.CANAK, Mode.NORMAL, seats, is_private)
        before = {(0, 1): met[mule]} if rules.meetings_window_ms else {}
        rating = rate_match(match, CanakWon(0), rules, before)
        met[mule] += len(rating.met)
        for change in rating.changes:
            star = star.after(change.delta_milli)
        (price,) = rate_forfeit(1, rules).changes
        standings[mule] = standings[mule].after(price.delta_milli)
    return star.rating_milli - rules.rating_start


def figures() -> list[str]:
    """A line for each way to farm, by each version."""
    found = []
    for is_private in (True, False):
        for mules in (1, 10, FRESH):
            gains = [
                farmed_milli(rules, mules, is_private=is_private) / 1000
                for rules in RULE_SETS.values()
            ]
            where = "behind an invite code" if is_private else "at public tables"
            shown = ", ".join(
                f"{version}: {gain:+.3f} points a day"
                for version, gain in zip(RULE_SETS, gains, strict=True)
            )
            found.append(f"{mules:>4} mules {where}: {shown}")
    first = farmed_milli(RULE_SETS["2026.11"], FRESH, is_private=True, minutes=1) / 1000
    return [*found, f"the first minute by 2026.11: {first:+.3f} points"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(figures()) + "\n")
