"""The search for the tiles that can stay."""

import pytest

from okey.rules.faces import faces_of
from okey.rules.groups import numbers_to_group, numbers_to_group_in_any_way
from okey.rules.plan import Plans, best_plan, can_keep
from okey.rules.tile import Tile, parse_rack

OKEY = Tile.R8
RED, YELLOW, BLUE = range(3)

KEPT = [
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1", 14),
    ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K12 K13 K1 K2", 13),
    # Groups and runs want the same tiles: as runs they keep more.
    ("R1 R2 R3 Y1 Y2 Y3 B1 B2 B3 B4 K1 K2 K3 K9", 13),
    ("R1 R6 R11 Y1 Y6 Y11 B3 B8 B13 K3 K13 K8 R1 Y1", 8),
]


@pytest.mark.parametrize(("hand", "kept"), KEPT)
def test_the_best_plan_keeps_the_most(hand: str, kept: int) -> None:
    """H2: on 14 places."""
    vectors = faces_of(parse_rack(hand), OKEY).vectors
    assert best_plan(faces_of(parse_rack(hand), OKEY)).kept == kept
    assert can_keep(vectors, kept)
    assert not can_keep(vectors, kept + 1)


def test_no_more_is_looked_for_than_the_okeys_leave_places() -> None:
    """H2, T5: with an okey 13 other tiles are enough, though 14 of these 15 would fit."""
    rack = parse_rack("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1 R8")
    assert best_plan(faces_of(rack, OKEY, sizes=(15,))).kept >= 13


def test_all_plans_of_the_best_are_found() -> None:
    """H4: the group may leave one of its tiles to a run, and then has the gap itself."""
    vectors = faces_of(parse_rack("R4 R5 R6 Y5 B5 K9 K10 K11 K12 Y1 Y2 Y3 K1 B9"), OKEY).vectors
    wide, fullest = (
        {tuple(choice.groups for _shift, choice in plan.groups) for plan in Plans(vectors, 12, way)}
        for way in (numbers_to_group_in_any_way, numbers_to_group)
    )
    assert not can_keep(vectors, 13)
    whole, less_red = (((RED, YELLOW, BLUE),),), (((YELLOW, BLUE),),)
    assert {whole, less_red} <= wide
    assert whole in fullest
    assert less_red not in fullest
