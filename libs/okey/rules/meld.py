"""Melds laid out tile by tile: what is a run, what is a group (H3, H4, T5, T6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from okey.rules.tile import HIGHEST_NUMBER, Colour, Tile, face_of

SMALLEST_MELD: Final = 3
LONGEST_RUN: Final = HIGHEST_NUMBER + 1  # 1..13 and then 1


class MeldKind(Enum):
    """What tiles can form together; pairs are for çift alone (H5)."""

    RUN = "run"
    GROUP = "group"
    PAIR = "pair"


@dataclass(frozen=True, slots=True)
class Meld:
    """Tiles that lie together as a run, a group or a pair, in the order in which they lie.

    A real okey lies in the place of the tile that it stands for.
    """

    kind: MeldKind
    tiles: tuple[Tile, ...]


def is_run(tiles: Sequence[Tile], okey: Tile) -> bool:
    """Whether ``tiles``, in this order, are consecutive numbers of one colour, three or more (H3).

    1 is the first number, or the last one after 13. A real okey stands for whatever its place
    asks for (T5), at the ends too; a sahte okey is the okey's face (T6).
    """
    if not SMALLEST_MELD <= len(tiles) <= LONGEST_RUN:
        return False
    faces = [face_of(tile, okey) for tile in tiles]
    starts = set(range(1, LONGEST_RUN - len(tiles) + 2))
    for place, face in enumerate(faces):
        if face is not None:
            starts &= _starts(face.number, place)
    return bool(starts) and len(_colours(faces)) <= 1


def is_group(tiles: Sequence[Tile], okey: Tile) -> bool:
    """Whether ``tiles`` are one number in three or four different colours (H4, T5, T6)."""
    faces = [face_of(tile, okey) for tile in tiles]
    plain = [face for face in faces if face is not None]
    return (
        SMALLEST_MELD <= len(tiles) <= len(Colour)
        and len({face.number for face in plain}) <= 1
        and len(_colours(faces)) == len(plain)
    )


def _starts(number: int, place: int) -> set[int]:
    """The first numbers of a run that has ``number`` at ``place``; a 1 may also follow the 13."""
    start = number - place
    return {start, start + HIGHEST_NUMBER} if number == 1 else {start}


def _colours(faces: Sequence[Tile | None]) -> set[Colour]:
    return {face.colour for face in faces if face is not None}
