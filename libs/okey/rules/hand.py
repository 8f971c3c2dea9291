"""Which of the three forms a hand of 14 has (H1..H6).

A hand is normal if all its tiles besides the okeys fit into melds (``plan``). Nothing depends on
how many copies of a tile the set has, so impossible hands are judged as well.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import product
from typing import Final

from okey.rules.faces import HAND_TILES, ONES, Faces, faces_of
from okey.rules.plan import can_keep
from okey.rules.tile import Tile


class Form(Enum):
    """A form in which 14 tiles are finished; the value is its name towards other programs."""

    NORMAL = "normal"
    CIFT = "pairs"
    OKEYS = "okeys"


def classify(tiles: Sequence[Tile], okey: Tile) -> frozenset[Form]:
    """All forms that these 14 tiles have, the real okeys among them being wild (H1..H6).

    Raises ``WrongTileCount`` for any other number of tiles (H1), ``NotAnOkey`` for a sahte okey as
    okey.
    """
    faces = faces_of(tiles, okey)
    is_cift = unpaired(faces) <= faces.wild
    return _FORMS[is_normal(faces), is_cift, faces.wild == HAND_TILES]


def unpaired(faces: Faces) -> int:
    """How many faces are held an odd number of times; each needs one okey for a pair (H5)."""
    red, yellow, blue, black = faces.vectors
    return (
        (red & ONES).bit_count()
        + (yellow & ONES).bit_count()
        + (blue & ONES).bit_count()
        + (black & ONES).bit_count()
    )


def is_normal(faces: Faces) -> bool:
    """H2: with at most as many gaps as there are okeys, all other tiles lie in runs and groups.

    Okeys left over always find a place: three make a meld, and one or two extend a run or a group
    of three. Where there are only groups of four, three of them, the two left over make a meld with
    one of their tiles.
    """
    return can_keep(faces.vectors, HAND_TILES - faces.wild)


_FORMS: Final = {
    has: frozenset(form for form, is_there in zip(Form, has, strict=True) if is_there)
    for has in product((False, True), repeat=len(Form))
}
"""By whether each form is there: the set of those that are."""
