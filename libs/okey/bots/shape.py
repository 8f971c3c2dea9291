"""How well the tiles of a hand stand beside each other, for what is still unseen.

Distance and improving tiles say what the next draw can do. Far from a finish nearly every draw does
something, and what tells hands apart is how many pairs of tiles wait for a third one, and for how
many copies of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from okey.rules.tile import HIGHEST_NUMBER, NUMBER_TILES, Colour, Tile, face_of, tile_of

_HELD: Final = 1.3
"""What a third tile that is held too counts: about as much as a tile has unseen copies."""

_WEIGHT: Final = 0.38
"""Makes a pair that waits for two fresh faces about 1."""


class _Pair(NamedTuple):
    """A face and a higher one: ``ends`` would lengthen them, ``fills`` stand in one meld with them
    and may be held already.
    """

    other: Tile
    ends: tuple[Tile, ...]
    fills: tuple[Tile, ...]


def shape_of(tiles: Sequence[Tile], okey: Tile, unseen: Sequence[int]) -> float:
    """The pairs of different faces that can stand in one meld, each by what would complete it.

    Two tiles of a colour that are one apart wait for both ends, with a gap for the middle; two of
    one number wait for the other colours. ``unseen`` counts copies by tile value. Okeys fit
    everywhere and say nothing.
    """
    faces = {face for tile in tiles if (face := face_of(tile, okey)) is not None}
    copies = held = 0
    for face in faces:
        for other, ends, fills in _PAIRS[face]:
            if other in faces:
                fresh = [tile for tile in fills if tile not in faces]
                held += len(fills) - len(fresh)
                copies += sum(unseen[Tile.S if tile is okey else tile] for tile in (*ends, *fresh))
    return _WEIGHT * (copies + _HELD * held)


def _pairs_of(face: Tile) -> tuple[_Pair, ...]:
    colour, number = face.colour, face.number
    ends, fills = _in_colour(colour, (number - 1, number + 2)), _in_colour(colour, (number + 1,))
    pairs = [_Pair(other, ends, ()) for other in fills]
    pairs += [_Pair(other, (), fills) for other in _in_colour(colour, (number + 2,))]
    same = [tile_of(each, number) for each in Colour]
    pairs += [
        _Pair(other, (), tuple(tile for tile in same if tile not in (face, other)))
        for other in same
        if other > face
    ]
    return tuple(pairs)


def _in_colour(colour: Colour, places: Iterable[int]) -> tuple[Tile, ...]:
    """The tiles of a colour at these places, where they exist; the 1 is at 1 and at 14 (H3)."""
    return tuple(
        tile_of(colour, (place - 1) % HIGHEST_NUMBER + 1)
        for place in places
        if 1 <= place <= HIGHEST_NUMBER + 1
    )


_PAIRS: Final = {face: _pairs_of(face) for face in NUMBER_TILES}
