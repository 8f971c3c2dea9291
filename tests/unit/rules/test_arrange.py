"""A rack laid out so that it shows its distance."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.rules.arrange import Arrangement, arrange, arrange_pairs
from okey.rules.distance import distance_to_cift, distance_to_normal
from okey.rules.meld import MeldKind, is_group, is_run
from okey.rules.tile import FULL_SET, Tile, parse_rack, rack_text
from tests.unit.rules.hand_maker import hands

OKEY = Tile.R8


def laid_out(text: str) -> list[str]:
    """Melds, then parts in brackets, then the singles after a stroke."""
    shown = arrange(parse_rack(text), OKEY)
    melds = sorted(rack_text(meld.tiles) for meld in shown.melds)
    parts = sorted(f"[{rack_text(part)}]" for part in shown.parts)
    return [*melds, *parts, f"| {rack_text(shown.singles)}".strip()]


def faults(shown: Arrangement, tiles: Sequence[Tile], okey: Tile) -> list[str]:
    """What is wrong with an arrangement of ``tiles``, whatever melds it chose."""
    in_melds = [tile for meld in shown.melds for tile in meld.tiles]
    in_parts = [tile for part in shown.parts for tile in part]
    checks = {MeldKind.RUN: is_run, MeldKind.GROUP: is_group}
    found = {
        "tiles lost or doubled": sorted((*in_melds, *in_parts, *shown.singles)) != sorted(tiles),
        "no meld": not all(checks[meld.kind](meld.tiles, okey) for meld in shown.melds),
        "an okey in a part": okey in in_parts,
        "a part of one tile": any(len(part) < 2 for part in shown.parts),
        "a won hand not shown": shown.distance == 0 and len(in_melds) != 14,
        "another distance": shown.distance != distance_to_normal(tiles, okey),
        "no proof": shown.distance != proved_distance(shown, okey),
    }
    return [fault for fault, is_there in found.items() if is_there]


def proved_distance(shown: Arrangement, okey: Tile) -> int:
    """The distance that can be read off an arrangement: what lacks of 14 tiles that can stay.

    Every part is filled up with okeys, as many as make it a meld.
    """
    places = sum(len(meld.tiles) for meld in shown.melds) + sum(
        len(part) + gaps_of(part, okey) for part in shown.parts
    )
    assert places <= 14
    lone = [tile for tile in shown.singles if tile != okey]
    staying = [*(tile for meld in shown.melds for tile in meld.tiles), *chain(*shown.parts)]
    staying += [okey] * shown.singles.count(okey) + lone[: (14 - places) // 3]
    return max(0, 14 - len(staying))


def gaps_of(part: tuple[Tile, ...], okey: Tile) -> int:
    """The fewest okeys that make a part a meld, in any order and in any places between."""
    for gaps in range(1, 4):
        tiles = (*part, *[okey] * gaps)
        if is_group(tiles, okey) or any(
            is_run(order, okey) for order in interleaved(part, gaps, okey)
        ):
            return gaps
    raise AssertionError(f"{rack_text(part)} is no part of a meld")


def interleaved(part: tuple[Tile, ...], gaps: int, okey: Tile) -> Iterator[tuple[Tile, ...]]:
    """The part in its order with okeys in all places."""
    for places in combinations(range(len(part) + gaps), gaps):
        tiles = iter(part)
        yield tuple(okey if place in places else next(tiles) for place in range(len(part) + gaps))


def test_a_won_hand_is_laid_out_in_full() -> None:
    """H2: every tile in a meld."""
    assert laid_out("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1") == [
        "B5 B6 B7 B8",
        "K11 K12 K13 K1",
        "R4 Y4 K4",
        "Y1 Y2 Y3",
        "|",
    ]


def test_okeys_lie_where_they_stand_in() -> None:
    """T5: in the gap of a run, and at its end."""
    shown = laid_out("K3 K6 R8 R8 R9 Y9 B9 Y11 Y12 Y13 Y1 R5 Y5 K5")
    assert "K3 R8 R8 K6" in shown
    assert "Y11 Y12 Y13 Y1" in shown


def test_a_sahte_okey_lies_as_the_okeys_face() -> None:
    """T6: between the 7 and the 9."""
    shown = laid_out("R6 R7 S S Y8 B8 K8 Y2 Y3 Y4 K10 K11 K12 K13")
    assert "R6 R7 S" in shown
    assert shown[-1] == "|"


@pytest.mark.parametrize(
    ("text", "melds"),
    [
        # The okey to spare goes on a run, before a run that ends with the 1, or into a group.
        ("Y2 Y3 Y4 B5 B6 B7 B1 B2 B3 K4 K5 K6 K7 R8", ["R8"]),
        ("Y11 Y12 Y13 Y1 B11 B12 B13 B1 K10 K11 K12 K13 K1 R8", ["R8"]),
        ("Y5 B5 K5 Y6 B6 K6 Y7 B7 K7 R7 Y9 B9 K9 R8", ["R8"]),
        # The longest run takes no more: thirteen tiles and the okey are all of it.
        ("Y1 Y2 Y3 Y4 Y5 Y6 Y7 Y8 Y9 Y10 Y11 Y12 Y13 R8", ["R8"]),
        # A group of four takes none, a group of three does.
        ("R2 Y2 B2 K2 Y5 B5 K5 Y9 B9 K9 R12 Y12 B12 R8", ["R8"]),
        # Three groups of four take none: one gives a tile to a new meld with two okeys.
        ("R2 Y2 B2 K2 R7 Y7 B7 K7 R12 Y12 B12 K12 R8 R8", ["R8 R8"]),
        # Three okeys and more are a meld of their own.
        ("Y1 Y2 Y3 Y4 Y5 K1 K2 K3 K4 K5 K6 R8 R8 R8", ["R8 R8 R8"]),
        (" ".join(["R8"] * 14), [" ".join(["R8"] * 14)]),
    ],
)
def test_spare_okeys_are_laid_to_the_melds(text: str, melds: list[str]) -> None:
    """H2, T5: a won hand has no single, however many okeys it has."""
    tiles = parse_rack(text)
    shown = arrange(tiles, OKEY)
    assert faults(shown, tiles, OKEY) == []
    assert shown.singles == ()
    texts = [rack_text(meld.tiles) for meld in shown.melds]
    assert all(any(meld in text for text in texts) for meld in melds)


def test_of_fifteen_the_tile_to_finish_with_is_single() -> None:
    """H7, H9: an okey that can be spared is the one."""
    hand = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
    assert laid_out(f"{hand} B13")[-1] == "| B13"
    assert laid_out(f"{hand} R8")[-1] == "| R8"


def test_a_hand_on_its_way_shows_melds_parts_and_singles() -> None:
    """H2: complete melds first, then what belongs together, then the rest."""
    assert laid_out("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K11 K12 K13 K1 R13") == [
        "B5 B6 B7 B8",
        "K11 K12 K13 K1",
        "Y1 Y2 Y3",
        "[R4 Y4]",
        "| R13",
    ]


def test_okeys_complete_the_melds_that_miss_least() -> None:
    """T5: two okeys complete two melds of two tiles rather than one of a lone tile."""
    shown = arrange(parse_rack("R4 R4 Y1 Y2 B6 B7 R11 R11 K9 K9 Y8 Y8 R8 R8"), OKEY)
    assert sorted(len(meld.tiles) for meld in shown.melds) == [3, 3]
    assert all(OKEY in meld.tiles for meld in shown.melds)
    assert OKEY not in shown.singles


def test_every_arrangement_proves_its_distance() -> None:
    """H2: made hands of all kinds, of 14 tiles and with a 15th."""
    for tiles, okey in hands(seed=31, count=600):
        for rack in (tiles, (*tiles, Tile.K7), (*tiles, okey)):
            assert faults(arrange(rack, okey), rack, okey) == [], (rack_text(rack), okey)


@given(st.permutations(FULL_SET), st.sampled_from([Tile.R1, Tile.B7, Tile.K13]))
def test_every_dealt_rack_is_arranged_soundly(tiles: list[Tile], okey: Tile) -> None:
    """H2: the same tiles again, every meld a meld."""
    assert faults(arrange(tiles[:14], okey), tiles[:14], okey) == []


def test_pairs_are_laid_out_with_okeys_beside_lone_tiles() -> None:
    """H5, T6: two sahte okeys pair; an okey goes to a lone tile before another okey."""
    shown = arrange_pairs(parse_rack("S S R2 R2 Y5 Y5 B9 B9 B9 B9 R11 Y13 Y12 R8"), OKEY)
    assert [rack_text(meld.tiles) for meld in shown.melds] == [
        "R2 R2",
        "Y5 Y5",
        "B9 B9",
        "B9 B9",
        "S S",
        "R11 R8",
    ]
    assert (rack_text(shown.singles), shown.distance) == ("Y12 Y13", 1)


def test_okeys_to_spare_pair_with_each_other() -> None:
    """H5, H9: of fifteen the single one is an okey, if one can be spared."""
    hand = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11 R8 R8"
    assert rack_text(arrange_pairs(parse_rack(hand), OKEY).melds[-1].tiles) == "R8 R8"
    fifteen = arrange_pairs(parse_rack(f"{hand} K1"), OKEY)
    assert rack_text(fifteen.melds[-1].tiles) == "K1 R8"
    assert (rack_text(fifteen.singles), fifteen.distance) == ("R8", 0)


def test_every_arrangement_in_pairs_proves_its_distance() -> None:
    """H5: seven less the pairs."""
    for tiles, okey in hands(seed=37, count=300):
        for rack in (tiles, (*tiles, Tile.K7)):
            shown = arrange_pairs(rack, okey)
            assert {meld.kind for meld in shown.melds} <= {MeldKind.PAIR}
            assert all(meld.tiles[0] == meld.tiles[1] or okey in meld.tiles for meld in shown.melds)
            laid = [tile for meld in shown.melds for tile in meld.tiles]
            assert sorted((*laid, *shown.singles)) == sorted(rack)
            assert 7 - len(shown.melds) == shown.distance == distance_to_cift(rack, okey)
