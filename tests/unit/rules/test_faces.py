"""A hand as counts of faces."""

import pytest

from okey.rules.faces import WrongTileCount, faces_of, support
from okey.rules.tile import NotAnOkey, Tile, parse_rack


def test_okeys_are_wild_and_sahte_okeys_are_not() -> None:
    """T5, T6: two okeys, two sahte okeys on the okey's face, everything else on its own."""
    hand = parse_rack("R8 R8 S S R1 R1 R13 Y1 Y2 B5 K13 K13 K13 K12")
    faces = faces_of(hand, Tile.R8)
    assert faces.wild == 2
    red, yellow, blue, black = faces.vectors
    assert red == 2 + (2 << 4 * 7) + (1 << 4 * 12)
    assert yellow == 1 + (1 << 4)
    assert blue == 1 << 4 * 4
    assert black == (1 << 4 * 11) + (3 << 4 * 12)


@pytest.mark.parametrize("tile", [Tile.R1, Tile.R13, Tile.Y1, Tile.B13, Tile.K13, Tile.S])
def test_fifteen_copies_still_fit(tile: Tile) -> None:
    """H1: impossible racks are counted as well, and no count runs into the next."""
    faces = faces_of([tile] * 15, Tile.R13, sizes=(15,))
    counts = [vector >> 4 * place & 15 for vector in faces.vectors for place in range(13)]
    assert faces.wild == 15 * (tile is Tile.R13)
    assert sum(counts) == 15 - faces.wild
    assert max(counts) == sum(counts)


def test_support_has_a_one_for_every_number_held() -> None:
    for count in range(1, 16):
        assert support(count << 4 * 3 | 2) == 1 << 4 * 3 | 1
    assert support(0) == 0


def test_another_number_of_tiles_is_named() -> None:
    """H1: with the rack that was given."""
    with pytest.raises(WrongTileCount, match=r"2 tiles where 14 or 15 are judged: 'R1 S'"):
        faces_of(parse_rack("R1 S"), Tile.R8, sizes=(14, 15))


def test_a_sahte_okey_is_no_okey() -> None:
    """T4: the okey is a number tile."""
    with pytest.raises(NotAnOkey):
        faces_of([Tile.R1] * 14, Tile.S)
