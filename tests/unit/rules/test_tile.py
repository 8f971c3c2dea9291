"""Tiles, their notation, and what the gösterge makes of them."""

from collections import Counter

import pytest

from okey.rules.tile import (
    FULL_SET,
    NUMBER_TILES,
    Colour,
    MalformedTile,
    NoFace,
    NotAGosterge,
    Tile,
    face_of,
    okey_of,
    parse_rack,
    rack_text,
    tile_of,
    without,
)


def test_the_set_has_106_tiles_two_of_each_kind() -> None:
    """T1: 4 colours x 1..13 x 2, and 2 sahte okey."""
    assert len(FULL_SET) == 106
    assert set(Counter(FULL_SET).values()) == {2}
    numbers = Counter((tile.colour, tile.number) for tile in FULL_SET if tile is not Tile.S)
    assert numbers == {(colour, number): 2 for colour in Colour for number in range(1, 14)}


def test_values_are_those_of_the_wire_and_of_stored_events() -> None:
    """T1: 1..52 by colour and number, 53 the sahte okey; a change would break stored tables."""
    assert [tile.value for tile in Tile] == list(range(1, 54))
    assert (Tile.R1, Tile.R13, Tile.Y1, Tile.B1, Tile.K1, Tile.K13, Tile.S) == (
        1, 13, 14, 27, 40, 52, 53,
    )  # fmt: skip


@pytest.mark.parametrize("tile", Tile)
def test_notation_is_read_back(tile: Tile) -> None:
    """T1: what is written is read as the same tile."""
    assert Tile.parse(str(tile)) is tile
    assert f"{tile}" == tile.name


def test_number_tiles_have_colour_and_number() -> None:
    """T1: R, Y, B, K are red, yellow, blue, black."""
    assert (Tile.R7.colour, Tile.Y13.colour) == (Colour.RED, Colour.YELLOW)
    assert (Tile.B1.colour, Tile.K13.colour) == (Colour.BLUE, Colour.BLACK)
    assert [Tile.parse(f"B{number}").number for number in range(1, 14)] == list(range(1, 14))
    assert all(tile_of(tile.colour, tile.number) is tile for tile in NUMBER_TILES)


@pytest.mark.parametrize("text", ["", "R0", "R14", "r7", "G3", "R07", "S1", " R7", "7R", "name"])
def test_malformed_tile_is_named(text: str) -> None:
    """T1: the error quotes what was read."""
    with pytest.raises(MalformedTile, match="is no tile") as caught:
        Tile.parse(text)
    assert repr(text) in str(caught.value)


def test_rack_is_read_in_order() -> None:
    """T1: tiles are written one after another."""
    rack = parse_rack("  K13 R1\tS R1\n")
    assert rack == (Tile.K13, Tile.R1, Tile.S, Tile.R1)
    assert rack_text(rack) == "K13 R1 S R1"
    assert parse_rack("") == ()


def test_malformed_rack_names_the_word() -> None:
    """T1: one bad word among good ones is the one quoted."""
    with pytest.raises(MalformedTile, match="'Q5'"):
        parse_rack("R1 Q5 R3")


@pytest.mark.parametrize(
    ("gosterge", "okey"), [("R7", "R8"), ("B12", "B13"), ("K13", "K1"), ("Y1", "Y2")]
)
def test_okey_is_the_next_number_and_one_after_thirteen(gosterge: str, okey: str) -> None:
    """T4: of the gösterge's colour; 13 -> 1."""
    assert okey_of(Tile.parse(gosterge)) is Tile.parse(okey)


def test_every_number_tile_is_the_okey_of_exactly_one_gosterge() -> None:
    """T4: so nothing is left without its okey."""
    assert sorted(map(okey_of, NUMBER_TILES)) == sorted(NUMBER_TILES)


def test_sahte_okey_is_never_the_gosterge() -> None:
    """T3: only a number tile names an okey."""
    with pytest.raises(NotAGosterge):
        okey_of(Tile.S)


def test_real_okey_is_wild() -> None:
    """T5: it has no face of its own, for it stands for any tile."""
    assert face_of(Tile.R8, okey=Tile.R8) is None


def test_sahte_okey_has_exactly_the_okeys_face() -> None:
    """T6: it is no wildcard."""
    assert face_of(Tile.S, okey=Tile.R8) is Tile.R8
    assert face_of(Tile.S, okey=Tile.K1) is Tile.K1


def test_any_other_tile_is_itself() -> None:
    """T6: the gösterge's second copy too."""
    assert face_of(Tile.R7, okey=Tile.R8) is Tile.R7


def test_sahte_okey_alone_has_no_face() -> None:
    """T6: only with the okey does it have a colour and a number."""
    assert not Tile.S.is_number_tile
    with pytest.raises(NoFace):
        _ = Tile.S.colour
    with pytest.raises(NoFace):
        _ = Tile.S.number


def test_without_takes_one_copy_each_and_keeps_the_order() -> None:
    rack = parse_rack("R1 K2 R1 S R1")
    assert without(rack, parse_rack("R1 S")) == parse_rack("K2 R1 R1")
    assert without(rack, parse_rack("B5")) == rack
