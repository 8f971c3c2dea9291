"""Pairs of tiles count by what would complete them."""

import pytest

from okey.bots.shape import shape_of
from okey.rules.tile import Tile, parse_rack

OKEY = Tile.R8
FRESH = (0, *(2 for _ in Tile))


def shape(tiles: str, gone: str = "") -> float:
    """In units of one unseen copy."""
    unseen = list(FRESH)
    for tile in parse_rack(gone):
        unseen[tile] -= 1
    return shape_of(parse_rack(tiles), OKEY, unseen) / 0.38


@pytest.mark.parametrize(
    ("tiles", "gone", "copies"),
    [
        ("Y5 Y6", "", 4),
        ("Y5 Y6", "Y4 Y7 Y7", 1),
        ("Y5 Y7", "", 2),
        ("Y1 Y2", "", 2),
        ("Y13 Y1", "", 2),
        ("Y12 Y1", "", 2),
        ("Y1 Y11", "", 0),
        ("Y5 B5", "", 4),
        ("Y5 B5", "R5 K5", 2),
        ("Y5 B6", "", 0),
        ("Y5 Y8", "", 0),
        ("Y5 Y5", "", 0),
    ],
)
def test_a_pair_counts_the_unseen_copies_of_what_completes_it(
    tiles: str, gone: str, copies: int
) -> None:
    """H3, H4: a 1 ends a run that begins below the 13, and begins one."""
    assert shape(tiles, gone) == pytest.approx(copies)


def test_a_third_tile_that_is_held_counts_as_one_that_may_come() -> None:
    """H3, H4: what is complete already stays worth keeping."""
    assert shape("Y5 Y6 Y7") == pytest.approx(4 + 1.3 + 4)
    assert shape("Y5 B5 K5") == pytest.approx(3 * (2 + 1.3))


def test_a_sahte_okey_is_the_okeys_face_and_an_okey_fits_everywhere() -> None:
    """T5, T6."""
    assert shape("S R7") == pytest.approx(4)
    assert shape("R8 R7 R9") == shape("R7 R9", "") == pytest.approx(2)
    assert shape("R7 R9", "S S") == pytest.approx(0)
