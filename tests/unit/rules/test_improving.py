"""Which faces bring a hand nearer; more comparisons are in tests/unit/bots."""

import pytest

from okey.rules.distance import distance_to_normal, normal_distance
from okey.rules.faces import faces_of
from okey.rules.improving import improving_cift, improving_normal
from okey.rules.tile import NUMBER_TILES, Tile, face_of, parse_rack, rack_text
from tests.unit.rules.hand_maker import hands

OKEY = Tile.R8


def faces_in(improving: int) -> list[Tile]:
    return [tile for tile in NUMBER_TILES if improving >> tile - 1 & 1]


def improving(hand: str) -> str:
    faces = faces_of(parse_rack(hand), OKEY)
    return rack_text(faces_in(improving_normal(faces, normal_distance(faces))))


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        # A gap in a run, at either end, and with the 1 after the 13.
        ("Y1 Y2 Y3 B5 B6 B7 B8 K5 K6 K7 K8 R10 R12 B1", "R11"),
        ("Y1 Y2 Y3 B5 B6 B7 B8 K5 K6 K7 K8 R10 R11 B1", "R9 R12"),
        ("Y1 Y2 Y3 B5 B6 B7 B8 K5 K6 K7 K8 R12 R13 B3", "R1 R11"),
        # A group of two takes either colour.
        ("Y1 Y2 Y3 B5 B6 B7 B8 K9 K10 K11 K12 R4 B4 R13", "Y4 K4"),
    ],
)
def test_gaps_of_the_best_plans(hand: str, expected: str) -> None:
    """H3, H4: nothing else keeps one more tile."""
    assert improving(hand) == expected


def test_a_group_may_leave_a_tile_to_a_run() -> None:
    """H4: with R5 in the run the group misses R5 and K5, with R5 in the group the run misses R5."""
    assert {"R5", "K5"} <= set(improving("R4 R5 R6 Y5 B5 K9 K10 K11 K12 Y1 Y2 Y3 K1 B9").split())


def test_a_spare_place_extends_any_meld() -> None:
    """H3, H4: 13 places of melds, one to spare."""
    hand = "R5 Y5 B5 K1 K2 K3 Y9 Y10 Y11 Y12 B1 B2 R13 B11"
    assert {"K5", "K4", "Y8", "Y13"} <= set(improving(hand).split())


def test_trying_every_tile_finds_the_same() -> None:
    """H2: hands of all kinds."""
    for tiles, okey in hands(seed=41, count=60):
        distance = distance_to_normal(tiles, okey)
        if distance:
            nearer = {
                face_of(tile, okey)
                for tile in Tile
                if distance_to_normal((*tiles, tile), okey) < distance and tile is not okey
            }
            found = improving_normal(faces_of(tiles, okey), distance)
            assert set(faces_in(found)) == nearer, (rack_text(tiles), okey)


def test_lone_tiles_wait_for_their_twins() -> None:
    """H5: three of a kind are a pair and a lone tile."""
    faces = faces_of(parse_rack("R2 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K2 R8"), OKEY)
    assert faces_in(improving_cift(faces)) == [Tile.R2, Tile.K1, Tile.K2]
