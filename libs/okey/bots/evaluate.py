"""What a hand is worth in tiles: how far it is, which draws bring it nearer, what to give away.

The distance to a form is the least number of tiles to be exchanged until the hand has it, where any
tile may come in; distance 0 and a won hand are the same thing (``okey.rules.distance``). A draw
*improves* 14 tiles if the best 14 of the then 15 are nearer. What may still be drawn is counted in
``unseen``: by tile value 0..53 the copies that the seat has not seen (``Outlook.unseen``).

- ``evaluate(hand, okey, goal, unseen)``: 14 tiles -> ``Evaluation(distance, improving, copies)``
- ``best_discards(rack, okey, goal, unseen)``: 15 tiles -> each tile whose loss keeps the rack as
  near as it is, with the evaluation of the 14 that stay; the most copies first
- ``distance_to(tiles, okey, goal)``: 14 or 15 tiles -> the distance alone
- ``arrange_towards(tiles, okey, goal)``: 14 or 15 tiles -> the ``Arrangement`` that proves it
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from okey.rules.arrange import Arrangement, arrange, arrange_pairs
from okey.rules.distance import RACK_SIZES, cift_distance, is_within, normal_distance
from okey.rules.faces import HAND_TILES, Faces, faces_of
from okey.rules.improving import improving_cift, improving_normal
from okey.rules.tile import Tile, without


class Goal(Enum):
    """Which finish a hand is after."""

    NORMAL = auto()
    """Runs and groups (H2)."""
    CIFT = auto()
    """Seven pairs, the only finish while çift is announced (H5, H12)."""
    EITHER = auto()
    """The nearer of the two, while nothing is announced (H13)."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How far 14 tiles are from their goal, and what would help.

    ``improving`` are the tiles, ascending, that are unseen and whose drawing lowers the distance;
    ``copies`` counts all unseen copies of them. Nothing improves a won hand.
    """

    distance: int
    improving: tuple[Tile, ...]
    copies: int


@dataclass(frozen=True, slots=True)
class BestDiscard:
    """A tile to give away, and what the 14 that stay are worth."""

    tile: Tile
    rest: Evaluation


def distance_to(tiles: Sequence[Tile], okey: Tile, goal: Goal) -> int:
    """The tiles to be exchanged for ``goal``, 0..14; of 15 tiles the best 14 count.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    return _distance(faces_of(tiles, okey, RACK_SIZES), goal)


def evaluate(hand: Sequence[Tile], okey: Tile, goal: Goal, unseen: Sequence[int]) -> Evaluation:
    """The distance of 14 tiles to ``goal`` and the unseen tiles that lower it.

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    faces = faces_of(hand, okey)
    return _evaluation(faces, _distance(faces, goal), okey, goal, unseen)


def best_discards(
    rack: Sequence[Tile], okey: Tile, goal: Goal, unseen: Sequence[int]
) -> tuple[BestDiscard, ...]:
    """The tiles of 15 whose loss leaves the least distance to ``goal``, best first.

    First comes the one that leaves the most unseen copies of improving tiles; equals are in
    ascending order of the tiles. Where there is a choice an okey is among them too: it is the
    caller's to keep it, or to lay it for an okey win (H9).

    Raises ``WrongTileCount`` for other numbers of tiles and ``NotAnOkey``.
    """
    least = _distance(faces_of(rack, okey, (HAND_TILES + 1,)), goal)
    found = []
    for tile in sorted(set(rack)):
        rest = faces_of(without(rack, (tile,)), okey)
        if _is_within(rest, goal, least):
            found.append(BestDiscard(tile, _evaluation(rest, least, okey, goal, unseen)))
    return tuple(sorted(found, key=lambda option: -option.rest.copies))


def _evaluation(
    faces: Faces, distance: int, okey: Tile, goal: Goal, unseen: Sequence[int]
) -> Evaluation:
    improving = _drawable(_improving(faces, goal, distance), okey, unseen) if distance else ()
    return Evaluation(distance, improving, sum(unseen[tile] for tile in improving))


def arrange_towards(tiles: Sequence[Tile], okey: Tile, goal: Goal) -> Arrangement:
    """The 14 or 15 ``tiles`` laid out so that they prove their distance to ``goal``.

    Of two forms equally near it is the normal one. Raises ``WrongTileCount`` for other numbers of
    tiles and ``NotAnOkey``.
    """
    if goal is Goal.NORMAL:
        return arrange(tiles, okey)
    if goal is Goal.CIFT:
        return arrange_pairs(tiles, okey)
    return min(
        arrange(tiles, okey), arrange_pairs(tiles, okey), key=lambda laid_out: laid_out.distance
    )


def _distance(faces: Faces, goal: Goal) -> int:
    if goal is Goal.NORMAL:
        return normal_distance(faces)
    if goal is Goal.CIFT:
        return cift_distance(faces)
    return min(normal_distance(faces), cift_distance(faces))


def _is_within(faces: Faces, goal: Goal, distance: int) -> bool:
    return (goal is not Goal.NORMAL and cift_distance(faces) <= distance) or (
        goal is not Goal.CIFT and is_within(faces, distance)
    )


def _improving(faces: Faces, goal: Goal, distance: int) -> int:
    """The faces that lower this distance to ``goal``, which is not 0."""
    found = 0
    if goal is Goal.NORMAL or (goal is Goal.EITHER and is_within(faces, distance)):
        found |= improving_normal(faces, distance)
    if goal is Goal.CIFT or (goal is Goal.EITHER and cift_distance(faces) == distance):
        found |= improving_cift(faces)
    return found


def _drawable(faces: int, okey: Tile, unseen: Sequence[int]) -> tuple[Tile, ...]:
    """The okey, which improves every hand, and the tiles of these faces, where they are unseen."""
    wild = 1 << okey - 1
    # The okey's own face is that of the sahte okey (T6).
    left = faces & ~wild | (_SAHTE if faces & wild else 0) | wild
    drawable = []
    while left:
        lowest = left & -left
        tile = _TILES[lowest.bit_length() - 1]
        if unseen[tile]:
            drawable.append(tile)
        left -= lowest
    return tuple(drawable)


_TILES: Final = tuple(Tile)
_SAHTE: Final = 1 << Tile.S - 1
