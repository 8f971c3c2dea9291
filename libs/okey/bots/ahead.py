"""One draw ahead: what a hand waits for once the next tile has come and the best one has gone.

All for melds; with pairs the share that is left follows from the one before.
"""

from collections.abc import Iterator, Sequence

from okey.bots.evaluate import Evaluation, Goal, best_discards
from okey.rules.tile import Tile


def share_to_come(
    hand: Sequence[Tile], waits: Evaluation, okey: Tile, unseen: Sequence[int]
) -> float:
    """The part of the unseen tiles that will improve 14 tiles once they have come one nearer.

    ``waits`` is the evaluation of ``hand``, at least two away. The mean over its unseen improving
    tiles, each with the best discard after it; 0 without any.
    """
    if not waits.copies:
        return 0.0
    coming = sum(unseen[tile] * _most((*hand, tile), okey, unseen) for tile in waits.improving)
    return coming / waits.copies / sum(unseen)


def waits_to_come(
    hand: Sequence[Tile], waits: Evaluation, okey: Tile, unseen: Sequence[int]
) -> Iterator[tuple[Tile, int]]:
    """Each unseen tile that does not improve 14 tiles, and for how many copies they wait with it if
    the best one of the 15 is given away.
    """
    for tile in Tile:
        if unseen[tile] and tile not in waits.improving:
            yield tile, _most((*hand, tile), okey, unseen)


def _most(rack: Sequence[Tile], okey: Tile, unseen: Sequence[int]) -> int:
    return best_discards(rack, okey, Goal.NORMAL, unseen)[0].rest.copies
