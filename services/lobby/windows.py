"""The rating window of a waiting ticket: how far from its own rating it takes others, wider and
wider the longer it waits.

Whoever has waited longest decides: a match fits if everybody's rating lies in the window of the one
who has waited longest. So nobody waits for ever beside others, however far away their ratings lie.
"""

from dataclasses import dataclass
from typing import Final

MILLI: Final = 1_000
"""Milli-points in a rating point."""

ANYBODY: Final = 1 << 62
"""The reach, in milli-points, of a window that takes everybody."""


@dataclass(frozen=True, slots=True)
class RatingWindow:
    """``points`` to each side at first, twice as many after each ``doubles_every_ms``, everybody
    from ``opens_after_ms`` on.
    """

    points: int = 100
    doubles_every_ms: int = 5_000
    opens_after_ms: int = 30_000

    def reach_milli(self, waited_ms: int) -> int:
        """How far to each side the window reaches after so long a wait, in milli-points."""
        if waited_ms >= self.opens_after_ms:
            return ANYBODY
        doubled = max(0, waited_ms) // self.doubles_every_ms
        return min(ANYBODY, (self.points * MILLI) << min(doubled, 40))
