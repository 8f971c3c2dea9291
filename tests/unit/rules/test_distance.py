"""How many tiles a hand is away from a finish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.faces import WrongTileCount
from okey.rules.tile import FULL_SET, Tile, parse_rack

OKEY = Tile.R8

TO_NORMAL = [
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1", 0),
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K12 K13 K1 K2", 1),
    # Nothing fits with anything: four melds begin with one tile each.
    ("R1 R6 R11 Y1 Y6 Y11 B3 B8 B13 K3 K13 K8 R1 Y1", 6),
    # Fourteen of a kind: four melds of one tile each, ten to exchange.
    (" ".join(["Y5"] * 14), 10),
    (" ".join(["Y5"] * 12 + ["R8"] * 2), 8),
    # Four groups of two colours each, and two places to spare.
    (" ".join(["Y5"] * 7 + ["R5"] * 7), 6),
    # Okeys replace what would have to be exchanged.
    (" ".join(["Y5"] * 7 + ["R8"] * 7), 3),
    (" ".join(["R8"] * 14), 0),
    (" ".join(["R8"] * 13 + ["Y5"]), 0),
    # Two lone tiles besides three groups of four: the fourth meld takes them up.
    ("R4 Y4 B4 K4 R6 Y6 B6 K6 R10 Y10 B10 K10 Y1 Y2", 1),
    ("R4 Y4 B4 K4 R6 Y6 B6 K6 R10 Y10 B10 K10 Y1 K9", 1),
    # A gap may lie anywhere in a run, at the 1 after the 13 as well.
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K10 K12 K13 K1", 1),
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K10 K11 K13 K1", 1),
    # Two sahte okeys are two tiles of one face, not two okeys.
    ("S S Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12", 2),
]

TO_CIFT = [
    ("S S R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", 0),
    ("S R8 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1", 0),
    ("R5 Y5 R2 R2 Y7 Y7 B8 B8 K3 K3 R11 R11 Y13 Y13", 1),
    ("R1 R2 R3 R4 R5 R6 R7 Y1 Y2 Y3 Y4 Y5 Y6 Y7", 7),
    ("R1 R2 R3 R4 R5 R6 R7 Y1 Y2 Y3 Y4 Y5 R8 R8", 5),
    ("R1 R2 R8 R8 R8 R8 R8 R8 R8 R8 R8 R8 R8 R8", 0),
]


@pytest.mark.parametrize(("hand", "distance"), TO_NORMAL)
def test_distance_to_normal(hand: str, distance: int) -> None:
    """H2: the tiles to be exchanged for runs and groups."""
    assert distance_to_normal(parse_rack(hand), OKEY) == distance


@pytest.mark.parametrize(("hand", "distance"), TO_CIFT)
def test_distance_to_cift(hand: str, distance: int) -> None:
    """H5: the tiles to be exchanged for seven pairs."""
    assert distance_to_cift(parse_rack(hand), OKEY) == distance


racks = st.tuples(st.permutations(FULL_SET).map(lambda tiles: tuple(tiles[:15])), st.sampled_from(
    [tile for tile in Tile if tile is not Tile.S]
))  # fmt: skip


@given(racks)
def test_fifteen_tiles_are_as_near_as_the_best_fourteen(
    rack: tuple[tuple[Tile, ...], Tile],
) -> None:
    """H7: one of the fifteen is laid down."""
    tiles, okey = rack
    fourteens = [tiles[:out] + tiles[out + 1 :] for out in range(15)]
    for distance in (distance_to_normal, distance_to_cift):
        assert distance(tiles, okey) == min(distance(hand, okey) for hand in fourteens)


@given(racks)
def test_one_exchange_changes_the_distance_by_one_at_most(
    rack: tuple[tuple[Tile, ...], Tile],
) -> None:
    """H2, H5: so a draw and a discard never lose more than one step."""
    (*hand, drawn), okey = rack
    exchanged = [drawn, *hand[1:]]
    for distance in (distance_to_normal, distance_to_cift):
        assert abs(distance(hand, okey) - distance(exchanged, okey)) <= 1


@given(racks, st.permutations(range(4)))
def test_colours_are_alike(rack: tuple[tuple[Tile, ...], Tile], order: list[int]) -> None:
    """H3, H4: exchanging the colours throughout changes nothing."""
    tiles, okey = rack

    def recoloured(tile: Tile) -> Tile:
        colour, index = divmod(tile - 1, 13)
        return tile if tile is Tile.S else Tile(order[colour] * 13 + index + 1)

    hand = tiles[:14]
    other = [recoloured(tile) for tile in hand]
    assert distance_to_normal(hand, okey) == distance_to_normal(other, recoloured(okey))


@pytest.mark.parametrize("count", [0, 13, 16])
def test_only_racks_of_fourteen_or_fifteen_have_a_distance(count: int) -> None:
    """H1: another number is an error that says how many there were."""
    for distance in (distance_to_normal, distance_to_cift):
        with pytest.raises(WrongTileCount, match=f"^{count} tiles where 14 or 15"):
            distance([Tile.R1] * count, OKEY)
