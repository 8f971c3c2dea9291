"""A hand as counts of faces: the form in which verdict, distance and arrangement read it (T5, T6).

A *colour vector* is one integer of 4 bits a number: bits ``4 * (number - 1)`` upwards count the
tiles of that number, so that melds are taken off with one subtraction. Fifteen copies of a tile
still fit.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from okey.errors import InvalidInput, quoted
from okey.rules.tile import HIGHEST_NUMBER, Colour, NotAnOkey, Tile, face_of, rack_text

HAND_TILES: Final = 14
"""H1: always 14 tiles are judged."""

Vectors = tuple[int, int, int, int]
"""One colour vector per colour, in the order of ``Colour``."""

NIBBLE: Final = 4
ONES: Final = sum(1 << NIBBLE * index for index in range(HIGHEST_NUMBER + 1))
"""A one in every 4-bit place of a vector, one place more than there are numbers (see ``runs``)."""

_VECTOR_BITS: Final = NIBBLE * HIGHEST_NUMBER
_VECTOR_MASK: Final = (1 << _VECTOR_BITS) - 1
_WILD_SHIFT: Final = _VECTOR_BITS * len(Colour)


class WrongTileCount(InvalidInput):
    """A hand of another size than the rule judges (H1)."""

    reason = "WRONG_TILE_COUNT"


class Faces(NamedTuple):
    """What a hand counts as: ``wild`` real okeys and, by colour, the faces of everything else."""

    wild: int
    vectors: Vectors


def faces_of(tiles: Sequence[Tile], okey: Tile, sizes: tuple[int, ...] = (HAND_TILES,)) -> Faces:
    """The faces of ``tiles``, whose number is one of ``sizes`` (at most 15).

    Raises ``WrongTileCount`` for another number of tiles (H1) and ``NotAnOkey`` for a sahte okey as
    okey.
    """
    if len(tiles) not in sizes:
        wanted = " or ".join(map(str, sizes))
        raise WrongTileCount(
            f"{len(tiles)} tiles where {wanted} are judged: {quoted(rack_text(tiles))} (H1)"
        )
    if okey is Tile.S:
        raise NotAnOkey("S cannot be the okey: it only counts as the okey's face (T4, T6)")
    packed = sum(map(_UNITS[okey].__getitem__, tiles))
    return Faces(
        packed >> _WILD_SHIFT,
        (
            packed & _VECTOR_MASK,
            packed >> _VECTOR_BITS & _VECTOR_MASK,
            packed >> 2 * _VECTOR_BITS & _VECTOR_MASK,
            packed >> 3 * _VECTOR_BITS & _VECTOR_MASK,
        ),
    )


def support(vector: int) -> int:
    """A one in each 4-bit place of ``vector`` that counts at least one tile."""
    return (vector | vector >> 1 | vector >> 2 | vector >> 3) & ONES


def _unit(face: Tile | None) -> int:
    return 1 << (_WILD_SHIFT if face is None else NIBBLE * (face - 1))


_UNITS: Final = (
    (),
    *((0, *(_unit(face_of(tile, okey)) for tile in Tile)) for okey in Tile if okey is not Tile.S),
)
"""By okey and tile value: what one such tile adds to the packed sum of a hand."""
