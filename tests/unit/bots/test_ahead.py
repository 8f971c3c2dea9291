"""The share that a hand comes to once one of the tiles that it waits for is there."""

from collections.abc import Sequence

import pytest

from okey.bots.ahead import share_to_come
from okey.bots.evaluate import Goal, distance_to, evaluate
from okey.rules.tile import Tile, parse_rack, without

OKEY = Tile.R8


def unseen_beside(seen: Sequence[Tile]) -> list[int]:
    """By tile value, the copies that are not among ``seen``."""
    copies = [0, *(2 for _ in Tile)]
    for tile in seen:
        copies[tile] -= 1
    return copies


def plain_share(hand: Sequence[Tile], unseen: Sequence[int]) -> float:
    """The same by trying every draw, every discard and every draw after it."""
    distance = distance_to(hand, OKEY, Goal.NORMAL)
    drawable = [tile for tile in Tile if unseen[tile]]
    came = [t for t in drawable if distance_to((*hand, t), OKEY, Goal.NORMAL) < distance]
    most = []
    for tile in came:
        rests = [without((*hand, tile), (given,)) for given in (*hand, tile)]
        most.append(
            max(
                sum(
                    unseen[t]
                    for t in drawable
                    if distance_to((*rest, t), OKEY, Goal.NORMAL) < distance - 1
                )
                for rest in rests
            )
        )
    copies = [unseen[tile] for tile in came]
    return sum(a * b for a, b in zip(copies, most, strict=True)) / sum(copies) / sum(unseen)


@pytest.mark.parametrize(
    "tiles",
    [
        "R1 R2 R3 Y5 Y6 Y7 B9 B10 B11 K2 K3 Y12 Y13 R11",
        "R1 R2 R3 Y5 Y6 Y7 B9 B10 K2 K3 Y12 Y13 R11 R8",
        "R1 R2 Y5 Y6 Y7 B9 B10 K2 K3 Y12 Y13 R11 K6 B6",
    ],
)
def test_is_the_mean_over_what_may_come_with_the_best_discard_after_it(tiles: str) -> None:
    hand = parse_rack(tiles)
    unseen = unseen_beside(hand)
    waits = evaluate(hand, OKEY, Goal.NORMAL, unseen)
    assert waits.distance >= 2
    assert share_to_come(hand, waits, OKEY, unseen) == pytest.approx(plain_share(hand, unseen))


def test_what_cannot_come_nearer_comes_to_nothing() -> None:
    """Only the twin of a tile that it holds is left."""
    hand = parse_rack("R1 R2 R3 Y5 Y6 Y7 B9 B10 B11 K2 K3 Y12 Y13 R11")
    unseen = [0] * (len(Tile) + 1)
    unseen[Tile.K2] = 1
    waits = evaluate(hand, OKEY, Goal.NORMAL, unseen)
    assert share_to_come(hand, waits, OKEY, unseen) == 0
