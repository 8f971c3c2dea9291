"""The plain way to judge a hand: the first tile left goes into every meld that could hold it.

For comparison of results and of speed. It shares no code with ``okey.rules``, its tiles apart.
"""

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

from okey.rules.tile import Tile
from tests.oracle import CELLS, MELDS, split

# A run of six or more is two runs side by side.
SHORT_MELDS = [meld for meld in MELDS if len(meld) <= 5]
MELDS_AT = [[meld for meld in SHORT_MELDS if place in meld] for place in CELLS]
COMPLETE_FROM = [[meld for meld in SHORT_MELDS if min(meld) == place] for place in CELLS]


def is_normal(tiles: Sequence[Tile], okey: Tile) -> bool:
    """Whether 14 tiles are runs and groups."""
    return distance_within(tiles, okey, 0)


def distance(tiles: Sequence[Tile], okey: Tile) -> int:
    """The distance of 14 tiles to a normal hand: 0, 1, 2, ... exchanges are tried."""
    return next(steps for steps in range(15) if distance_within(tiles, okey, steps))


def distance_within(tiles: Sequence[Tile], okey: Tile, exchanges: int) -> bool:
    """Whether so many exchanges are enough."""
    wild, faces = split(tiles, okey)
    return _fits([faces.count(place) for place in CELLS], 0, wild + exchanges, exchanges)


def _fits(counts: list[int], first: int, wild: int, drops: int) -> bool:
    """Whether the tiles from ``first`` on, less some to drop, lie in melds with okeys."""
    while first < len(CELLS) and not counts[first]:
        first += 1
    if first == len(CELLS):
        # One okey or two alone are no meld; those that extend one are tried as its gaps.
        return wild - drops not in (1, 2)
    for meld in MELDS_AT[first]:
        left = list(counts)
        for place in meld:
            left[place] -= 1
        missing = sum(left[place] < 0 for place in meld)
        if missing <= wild:
            found = _fits([max(0, count) for count in left], first, wild - missing, drops)
            if found:
                return True
    if drops:
        counts[first] -= 1
        found = _fits(counts, first, wild, drops - 1)
        counts[first] += 1
        return found
    return False


def is_complete(counts: list[int], first: int = 0) -> bool:
    """Whether tiles without an okey, by face, are melds."""
    while first < len(CELLS) and not counts[first]:
        first += 1
    if first == len(CELLS):
        return True
    for meld in COMPLETE_FROM[first]:
        if all(counts[place] for place in meld):
            for place in meld:
                counts[place] -= 1
            found = is_complete(counts, first)
            for place in meld:
                counts[place] += 1
            if found:
                return True
    return False


def is_won_by_exchanging(faces: Sequence[int], exchanges: int) -> bool:
    """Whether putting so many faces, any, in the place of as many of the 14 makes a normal hand."""
    for kept in set(combinations(sorted(faces), len(faces) - exchanges)):
        counts = [kept.count(place) for place in CELLS]
        for coming in combinations_with_replacement(CELLS, exchanges):
            for place in coming:
                counts[place] += 1
            found = is_complete(counts)
            for place in coming:
                counts[place] -= 1
            if found:
                return True
    return False
