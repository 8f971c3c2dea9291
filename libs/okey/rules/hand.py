"""Which of the three forms a hand of 14 has (H1..H6).

Normal hands are found group first: once the groups are fixed, the colours are independent of each
other. Nothing depends on how many copies of a tile the set has, so impossible hands are judged as
well.
"""

from collections.abc import Sequence
from enum import Enum

from okey.rules.faces import HAND_TILES, ONES, Faces, Vectors, faces_of
from okey.rules.groups import group_choices, numbers_with_groups, without_groups
from okey.rules.runs import gaps_to_place_all
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
    forms = set()
    if _is_normal(faces):
        forms.add(Form.NORMAL)
    if unpaired(faces) <= faces.wild:
        forms.add(Form.CIFT)
    if faces.wild == HAND_TILES:
        forms.add(Form.OKEYS)
    return frozenset(forms)


def unpaired(faces: Faces) -> int:
    """How many faces are held an odd number of times; each needs one okey for a pair (H5)."""
    return sum((vector & ONES).bit_count() for vector in faces.vectors)


def _is_normal(faces: Faces) -> bool:
    """H2: with at most as many gaps as there are okeys, all other tiles lie in runs and groups.

    Okeys left over always find a place: three make a meld, and one or two extend a run or a group
    of three. Where there are only groups of four, three of them, the two left over make a meld with
    one of their tiles.
    """
    # A group of two colours has a gap, so without an okey only numbers in three colours matter.
    shifts = tuple(numbers_with_groups(faces.vectors, 2 if faces.wild else 3))
    return _fits(faces.vectors, faces.wild, shifts)


def _fits(vectors: Vectors, gaps: int, shifts: tuple[int, ...]) -> bool:
    if not shifts:
        return _runs_fit(vectors, gaps)
    shift, later = shifts[0], shifts[1:]
    for choice in group_choices(vectors, shift):
        left = gaps - (choice.slots - choice.kept)
        if left >= 0 and _fits(without_groups(vectors, choice, shift), left, later):
            return True
    return False


def _runs_fit(vectors: Vectors, gaps: int) -> bool:
    for vector in vectors:
        gaps -= gaps_to_place_all(vector, gaps)
        if gaps < 0:
            return False
    return True
