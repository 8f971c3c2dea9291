"""Which tile a bot gives away: one that keeps the hand as near to a finish as it is."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

from okey.bots.outlook import Outlook
from okey.rules.tile import HIGHEST_NUMBER, Tile, face_of, without
from okey.rules.variant import BotLevel

_NEXT_IN_COLOUR = 3
_ONE_GAP_AWAY = 2
_SAME_NUMBER = 3
_HELD_TWICE = -2

Ranking = Callable[[Tile, tuple[Tile, ...]], tuple[int, ...]]
"""Ranks giving a tile away, given the 14 tiles that stay; the lowest is done."""


def choose_discard(outlook: Outlook, level: BotLevel, seed: int) -> Tile:
    """The tile of the 15 to discard; never an okey while there is another, nor one that the finish
    needs.

    Among equals EASY takes any, NORMAL the tile with the fewest useful neighbours, STRONG the one
    whose loss leaves the most unseen tiles that help. What is left is decided by the seed.
    """
    rank = _ranking(outlook, level)

    def order(tile: Tile) -> tuple[int, ...]:
        return (*rank(tile, without(outlook.rack, (tile,))), _lot(seed, tile))

    nearest = _nearest(outlook, level)
    return nearest[0] if len(nearest) == 1 else min(nearest, key=order)


def _nearest(outlook: Outlook, level: BotLevel) -> Sequence[Tile]:
    """The tiles without which the rest is nearest to a finish, in the order of their values."""
    candidates = sorted(set(outlook.rack) - {outlook.okey}) or [outlook.okey]
    sees_pairs = level is not BotLevel.EASY or outlook.has_announced
    measure = outlook.to_finish if sees_pairs else outlook.to_normal
    distances = {tile: measure(without(outlook.rack, (tile,))) for tile in candidates}
    least = min(distances.values())
    return [tile for tile, distance in distances.items() if distance == least]


def _ranking(outlook: Outlook, level: BotLevel) -> Ranking:
    if level is BotLevel.EASY:
        return lambda tile, rest: ()
    if level is BotLevel.STRONG:
        return lambda tile, rest: (
            -outlook.improving_copies(rest),
            neighbours(tile, rest, outlook.okey),
        )
    if outlook.has_announced:
        return lambda tile, rest: (outlook.unseen[tile],)
    return lambda tile, rest: (
        outlook.to_normal(rest),
        outlook.to_cift(rest),
        neighbours(tile, rest, outlook.okey),
    )


def neighbours(tile: Tile, rest: Sequence[Tile], okey: Tile) -> int:
    """How much the tiles that stay would help this one to become part of a meld; okeys help every
    tile alike.
    """
    face = face_of(tile, okey)
    if face is None:
        return 0
    return sum(_help(face, other) for held in rest if (other := face_of(held, okey)) is not None)


def _help(face: Tile, other: Tile) -> int:
    if face is other:
        return _HELD_TWICE
    if face.number == other.number:
        return _SAME_NUMBER
    if face.colour is not other.colour:
        return 0
    apart = abs(face.number - other.number)
    if 1 in (face.number, other.number):
        # The 1 also stands after the 13 (H3).
        apart = min(apart, HIGHEST_NUMBER - apart)
    return {1: _NEXT_IN_COLOUR, 2: _ONE_GAP_AWAY}.get(apart, 0)


def _lot(seed: int, tile: Tile) -> int:
    """A number that orders equal tiles, different from seed to seed."""
    return int.from_bytes(blake2b(f"{seed}:{int(tile)}".encode(), digest_size=8).digest())
