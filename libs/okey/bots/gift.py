"""What a discard may be to the next player, who alone can pick it up (U1); a partner sits
opposite.
"""

from collections import Counter
from functools import cache
from typing import Final, NamedTuple

from okey.bots.discard import apart
from okey.bots.outlook import Outlook
from okey.rules.tile import NUMBER_TILES, Tile, face_of
from okey.table.view import SeatView


class _Weight(NamedTuple):
    """In log-odds of finishing first, for each tile that makes part of a meld with the discard."""

    unseen: float
    taken: float


_ONE_AWAY: Final = _Weight(0.027, 0.09)
_TWO_AWAY: Final = _Weight(0.014, 0.06)
_OTHER_COLOUR: Final = _Weight(0.018, 0.12)
_DISCARDED: Final = -0.07
_LET_LIE: Final = -0.075
_HAS_ONE: Final = -0.09
_ONE: Final = -0.11
"""Likewise, for each copy of the tile that the next player gave away, did not take or is known to
hold, and for a 1, which fits fewer runs."""


def gift(tile: Tile, outlook: Outlook, giver: SeatView, receiver: SeatView) -> float:
    """What it may cost to give ``tile`` to the next player, in log-odds of finishing before a sole
    opponent; of several the receiver is only one.

    He may want it if tiles beside it are unseen, and more so if he took some from a pile. What he
    has thrown away himself, has let lie on the giver's pile or took before he does not want: melds
    need no second one.
    """
    face = face_of(tile, outlook.okey)
    if face is None:
        return 0.0  # given away only where nothing else is left
    taken = Counter(face_of(each, outlook.okey) for each in receiver.taken)
    cost = _DISCARDED * receiver.pile.count(tile) + _LET_LIE * giver.pile.count(tile)
    cost += _HAS_ONE * taken[face] + (_ONE if face.number == 1 else 0.0)
    for other, weight in _beside(face):
        unseen = outlook.unseen[Tile.S if other is outlook.okey else other]
        cost += weight.unseen * unseen + weight.taken * taken[other]
    return cost


@cache
def _beside(face: Tile) -> tuple[tuple[Tile, _Weight], ...]:
    """The faces that can stand in a meld with this one and at most one gap."""
    weights = ((other, _weight(face, other)) for other in NUMBER_TILES)
    return tuple((other, weight) for other, weight in weights if weight is not None)


def _weight(face: Tile, other: Tile) -> _Weight | None:
    if face.colour is other.colour:
        return {1: _ONE_AWAY, 2: _TWO_AWAY}.get(apart(face.number, other.number))
    return _OTHER_COLOUR if face.number == other.number else None
