"""What a finish is worth, or why it is none."""

from itertools import product

import pytest

from okey.rules.finish import (
    FinishKind,
    FinishRejected,
    LaidTileNotHeld,
    MustHoldFifteen,
    judge_finish,
)
from okey.rules.tile import Tile, parse_rack

OKEY = Tile.R8
NORMAL = parse_rack("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1")
PAIRS = parse_rack("S S R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1")
BOTH = parse_rack("R1 R1 R2 R2 R3 R3 R4 R4 R5 R5 R6 R6 R7 R7")
NEITHER = parse_rack("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K12 K13 K1 K2")

KINDS = {
    ("normal", "plain", "silent"): FinishKind.NORMAL,
    ("normal", "okey", "silent"): FinishKind.OKEY,
    ("pairs", "plain", "silent"): FinishKind.NORMAL,
    ("pairs", "okey", "silent"): FinishKind.OKEY,
    ("pairs", "plain", "announced"): FinishKind.CIFT,
    ("pairs", "okey", "announced"): FinishKind.CIFT_OKEY,
    ("both", "plain", "silent"): FinishKind.NORMAL,
    ("both", "okey", "silent"): FinishKind.OKEY,
    ("both", "plain", "announced"): FinishKind.CIFT,
    ("both", "okey", "announced"): FinishKind.CIFT_OKEY,
}
HANDS = {"normal": NORMAL, "pairs": PAIRS, "both": BOTH, "neither": NEITHER}
LAID = {"plain": Tile.Y9, "okey": OKEY}


@pytest.mark.parametrize(
    ("hand", "laid", "cift"), list(product(HANDS, LAID, ("silent", "announced")))
)
def test_every_hand_with_every_laid_tile(hand: str, laid: str, cift: str) -> None:
    """H7, H8, H9, H12, H13: a finish is the hand, the tile laid and the announcement."""
    rack = (*HANDS[hand], LAID[laid])
    kind = KINDS.get((hand, laid, cift))
    if kind is None:
        with pytest.raises(FinishRejected):
            judge_finish(rack, LAID[laid], OKEY, announced=cift == "announced")
    else:
        assert judge_finish(rack, LAID[laid], OKEY, announced=cift == "announced") is kind


def test_holding_an_okey_is_no_okey_win() -> None:
    """H9: only the tile laid counts."""
    rack = (*parse_rack("R1 R2 R8 Y5 B5 K5 B9 B10 B11 B12 Y10 Y11 Y12 Y13"), Tile.K9)
    assert judge_finish(rack, Tile.K9, OKEY, announced=False) is FinishKind.NORMAL


def test_holding_an_okey_in_seven_pairs_is_no_okey_win() -> None:
    """H9: with an announced çift neither."""
    rack = (*parse_rack("S R8 R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13 K1 K1"), Tile.K9)
    assert judge_finish(rack, Tile.K9, OKEY, announced=True) is FinishKind.CIFT


def test_laying_a_sahte_okey_is_no_okey_win() -> None:
    """H9: it does not count."""
    assert judge_finish((*NORMAL, Tile.S), Tile.S, OKEY, announced=False) is FinishKind.NORMAL
    assert judge_finish((*PAIRS, Tile.S), Tile.S, OKEY, announced=True) is FinishKind.CIFT


def test_laid_okey_is_not_judged_with_the_hand() -> None:
    """H7: the other 14 must do without it."""
    unready = (*parse_rack("R1 R2 Y5 B5 K5 B9 B10 B11 B12 Y10 Y11 Y12 Y13 K2"), OKEY)
    assert judge_finish(unready, Tile.K2, OKEY, announced=False) is FinishKind.NORMAL
    with pytest.raises(FinishRejected):
        judge_finish(unready, OKEY, OKEY, announced=False)


def test_one_copy_of_the_laid_tile_is_laid() -> None:
    """H7: its second copy stays in the hand."""
    rack = (*NORMAL, Tile.K1)
    assert judge_finish(rack, Tile.K1, OKEY, announced=False) is FinishKind.NORMAL


def test_fourteen_real_okeys_win() -> None:
    """H6: the validator knows the form that no deal reaches."""
    rack = (*[OKEY] * 14, Tile.Y9)
    assert judge_finish(rack, Tile.Y9, OKEY, announced=False) is FinishKind.NORMAL
    assert judge_finish([OKEY] * 15, OKEY, OKEY, announced=False) is FinishKind.OKEY


def test_rejection_says_how_far_the_hand_is() -> None:
    """H8: its sender learns why."""
    with pytest.raises(FinishRejected, match=r"without Y9 the hand is 1 from runs and groups"):
        judge_finish((*NEITHER, Tile.Y9), Tile.Y9, OKEY, announced=False)
    with pytest.raises(FinishRejected, match=r"announced çift binds"):
        judge_finish((*NORMAL, Tile.Y9), Tile.Y9, OKEY, announced=True)


@pytest.mark.parametrize("count", [0, 14, 16])
def test_a_finish_needs_fifteen_tiles(count: int) -> None:
    """H7: without a drawn tile there is nothing to lay."""
    rack = (*NORMAL, Tile.Y9, Tile.Y9)[:count]
    with pytest.raises(MustHoldFifteen, match=f"this rack has {count}"):
        judge_finish(rack, Tile.Y1, OKEY, announced=False)


def test_the_laid_tile_must_be_held() -> None:
    """H7: a tile from nowhere is refused by name."""
    with pytest.raises(LaidTileNotHeld, match="B13"):
        judge_finish((*NORMAL, Tile.Y9), Tile.B13, OKEY, announced=False)
