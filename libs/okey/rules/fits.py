"""What fits into a hand's places, as sets of (places, kept) in one integer each (H1, H2).

Bit ``16 * places + kept`` of a *fit* says that melds on so many places together can keep so many
tiles. Independent parts of a hand add places to places and kept to kept, so their fits are
combined by shifting one to each point of the other: no table is walked, and "are 9 tiles kept on
14 places?" is one ``&``.
"""

from functools import lru_cache
from typing import Final

from okey.rules.faces import HAND_TILES

_ROW: Final = 16
_REMEMBERED: Final = 1 << 12
_FULL_ROW: Final = (1 << _ROW) - 1

NOTHING: Final = 1
"""The fit of no tiles: no places, none kept."""

Points = tuple[int, ...]
"""The bit numbers of a fit's points that no other point beats: more places for more kept only."""


def point(places: int, kept: int) -> int:
    """The bit number of this pair."""
    return _ROW * places + kept


def places_and_kept(point: int) -> tuple[int, int]:
    """The pair of a bit number."""
    return divmod(point, _ROW)


WITHIN_HAND: Final = (1 << point(HAND_TILES + 1, 0)) - 1
"""All pairs that have no more places than a hand."""

AT_LEAST: Final = tuple(
    tuple(
        sum(1 << point(used, more) for used in range(places + 1) for more in range(kept, _ROW))
        for kept in range(_ROW + 1)
    )
    for places in range(HAND_TILES + 1)
)
"""By places and kept: all pairs with no more places and no fewer tiles kept."""


@lru_cache(maxsize=_REMEMBERED)
def points_of(fit: int) -> Points:
    """The points of ``fit`` that no other beats, ascending."""
    kept, found = 0, []
    while left := fit & AT_LEAST[HAND_TILES][kept]:
        places = ((left & -left).bit_length() - 1) // _ROW
        most = (left >> _ROW * places & _FULL_ROW).bit_length() - 1
        found.append(_ROW * places + most)
        kept = most + 1
    return tuple(found)


def most_by_places(points: Points) -> int:
    """The most tiles kept on at most 0, 1, ... 14 places, 16 bits a number of places."""
    table = before = 0
    for position in points:
        places, kept = places_and_kept(position)
        table += (kept - before) * (EACH_PLACE << point(places, 0) & WITHIN_HAND)
        before = kept
    return table


EACH_PLACE: Final = sum(1 << point(places, 0) for places in range(HAND_TILES + 1))
"""A one in the table of ``most_by_places`` for every number of places."""
