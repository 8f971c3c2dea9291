"""How many tiles a hand is away from a finish; distance 0 and winning are the same thing.

The distance to a form is the least number of tiles of the hand that must be exchanged so that it
has the form, where any tile may come in (any copy exists in thought). An exchanged tile is as good
as one more okey, so for a normal hand this is 14 less the okeys, less the most other tiles that
fit into melds of at most 14 places together; okeys and the tiles that come in fill the gaps.
"""

from collections.abc import Sequence
from typing import Final

from okey.rules.faces import HAND_TILES, Faces, faces_of
from okey.rules.hand import unpaired
from okey.rules.plan import best_plan, can_keep
from okey.rules.tile import Tile

RACK_SIZES: Final = (HAND_TILES, HAND_TILES + 1)
"""A rack between turns and one that has drawn; of 15, the best 14 count."""


def distance_to_normal(tiles: Sequence[Tile], okey: Tile) -> int:
    """The tiles to be exchanged for a normal hand (H2), 0..14; of 15 tiles the best 14 count.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    return normal_distance(faces_of(tiles, okey, RACK_SIZES))


def distance_to_cift(tiles: Sequence[Tile], okey: Tile) -> int:
    """The tiles to be exchanged for seven pairs (H5), 0..7; of 15 tiles the best 14 count.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    return cift_distance(faces_of(tiles, okey, RACK_SIZES))


def normal_distance(faces: Faces) -> int:
    """``distance_to_normal`` of faces."""
    return distance_left(faces, best_plan(faces).kept)


def distance_left(faces: Faces, kept: int) -> int:
    """The distance to a normal hand where so many tiles besides the okeys can stay."""
    return max(0, HAND_TILES - faces.wild - kept)


def is_within(faces: Faces, distance: int) -> bool:
    """Whether the distance to a normal hand is no more than this."""
    return can_keep(faces.vectors, max(0, HAND_TILES - faces.wild - distance))


def cift_distance(faces: Faces) -> int:
    """``distance_to_cift`` of faces: each exchange makes a pair of two lone tiles.

    Of 15 tiles a lone one is left over.
    """
    return max(0, unpaired(faces) - faces.wild) // 2
