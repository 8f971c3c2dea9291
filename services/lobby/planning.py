"""Who plays with whom: pure, so that every replica plans alike and a test can look at each plan.

Units are taken in order of arrival. Each takes those nearest in rating, as many as the table needs,
out of its own window. What is left over afterwards fits nobody: had a match been left among them,
the unit whose window holds the others would have found it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from services.lobby.waiting import PARTY_SIZE, Unit
from services.lobby.windows import RatingWindow

AT_TABLE_MS: Final = 5_000
"""How much of a wait for bots is spent at the table, where people may still sit down (W5)."""

Match = tuple[Unit, ...]
"""Units that fill a table; the one who has waited longest comes first."""


class _Line:
    """Units side by side by rating; one that is taken out costs nothing to step over."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = sorted(units, key=lambda unit: (unit.rating_milli, unit.order))
        self._place = {id(unit): place for place, unit in enumerate(self._units)}
        count = len(self._units)
        self._left = list(range(-1, count - 1))
        self._right = list(range(1, count + 1))

    def __contains__(self, unit: Unit) -> bool:
        return id(unit) in self._place

    def take_out(self, unit: Unit) -> None:
        place = self._place.pop(id(unit))
        left, right = self._left[place], self._right[place]
        if left >= 0:
            self._right[left] = right
        if right < len(self._units):
            self._left[right] = left

    def nearest(self, unit: Unit, reach_milli: int) -> Iterator[Unit]:
        """The others within reach, the nearest first."""
        place = self._place[id(unit)]
        left, right = self._left[place], self._right[place]
        while True:
            below = unit.rating_milli - self._units[left].rating_milli if left >= 0 else None
            above = None
            if right < len(self._units):
                above = self._units[right].rating_milli - unit.rating_milli
            if below is not None and (above is None or below <= above):
                if below > reach_milli:
                    return
                yield self._units[left]
                left = self._left[left]
            elif above is not None and above <= reach_milli:
                yield self._units[right]
                right = self._right[right]
            else:
                return


def plan(
    units: Sequence[Unit], seat_count: int, window: RatingWindow, now_ms: int
) -> tuple[list[Match], list[Unit]]:
    """Every full table that the units give, and the units that are left over."""
    line, matches = _Line(units), []
    for unit in sorted(units, key=lambda each: each.order):
        if unit not in line:
            continue
        reach = window.reach_milli(now_ms - unit.since_ms)
        others = _companions(seat_count - unit.size, line.nearest(unit, reach))
        if others is not None:
            matches.append((unit, *others))
            for taken in matches[-1]:
                line.take_out(taken)
    return matches, [unit for unit in units if unit in line]


def plan_with_bots(
    units: Sequence[Unit], seat_count: int, window: RatingWindow, now_ms: int
) -> list[Match]:
    """W5: tables that bots fill, for units that have waited as long as they said; others who allow
    bots and are within reach sit down with them. For units that ``plan`` has left over.
    """
    willing = [unit for unit in units if unit.fill_ms]
    line, matches = _Line(willing), []
    for unit in sorted(willing, key=lambda each: each.order):
        waited_ms = now_ms - unit.since_ms
        if unit not in line or waited_ms < unit.fill_ms - AT_TABLE_MS:
            continue
        free, match = seat_count - unit.size, [unit]
        for other in line.nearest(unit, window.reach_milli(waited_ms)):
            if other.size <= free:
                match.append(other)
                free -= other.size
        for taken in match:
            line.take_out(taken)
        matches.append(tuple(match))
    return matches


def _companions(needed: int, nearest: Iterator[Unit]) -> list[Unit] | None:
    """The first of these that need exactly so many seats, or None if there are too few."""
    single: list[Unit] = []
    parties: list[Unit] = []
    for other in nearest:
        (parties if other.size == PARTY_SIZE else single).append(other)
        if parties and 0 <= needed - PARTY_SIZE <= len(single):
            return [parties[0], *single[: needed - PARTY_SIZE]]
        if len(single) == needed:
            return single
    return None
