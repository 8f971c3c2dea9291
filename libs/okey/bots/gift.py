"""What a discard may be to the next player, who alone can pick it up (U1)."""

from collections.abc import Sequence
from typing import Final

from okey.bots.outlook import Outlook
from okey.rules.tile import HIGHEST_NUMBER, Colour, Tile, face_of, tile_of

_ONE_AWAY: Final = 0.013
_TWO_AWAY: Final = 0.007
_OTHER_COLOUR: Final = 0.009
_DISCARDED_ITSELF: Final = -0.035
_ONE: Final = -0.055
"""In log-odds of finishing first: for each unseen tile that could lie beside the discard in another
hand, for a next player who gave the same tile away, and for a 1, which fits fewer runs.
"""


def gift(tile: Tile, outlook: Outlook, pile_of_next: Sequence[Tile]) -> float:
    """How much it may cost to give ``tile`` away, in log-odds of finishing first."""
    face = face_of(tile, outlook.okey)
    if face is None:
        return 0.0  # given away only where nothing else is left
    cost = _ONE if face.number == 1 else 0.0
    for apart, weight in ((1, _ONE_AWAY), (2, _TWO_AWAY)):
        for number in (face.number - apart, face.number + apart):
            cost += weight * _unseen(outlook, face.colour, number)
    for colour in Colour:
        if colour is not face.colour:
            cost += _OTHER_COLOUR * _unseen(outlook, colour, face.number)
    return cost + _DISCARDED_ITSELF * pile_of_next.count(tile)


def _unseen(outlook: Outlook, colour: Colour, number: int) -> int:
    """The unseen tiles of this face; 14 is the 1 after the 13 (H3)."""
    if number == HIGHEST_NUMBER + 1:
        number = 1
    if not 1 <= number <= HIGHEST_NUMBER:
        return 0
    face = tile_of(colour, number)
    return outlook.unseen[Tile.S if face is outlook.okey else face]
