"""Distances, improving tiles and best discards as a bot asks for them."""

import pytest

from okey.bots.evaluate import Goal, arrange_towards, best_discards, distance_to, evaluate
from okey.rules.arrange import arrange, arrange_pairs
from okey.rules.faces import WrongTileCount
from okey.rules.tile import Tile, parse_rack, rack_text

OKEY = Tile.R8
ALL_UNSEEN = (0, *(2 for _tile in Tile))

MELDS = "Y1 Y2 Y3 B5 B6 B7 R4 Y4 K4 K11 K12"
PAIRS = "S S R2 R2 Y5 Y5 B8 B8 R11 R11 Y13 Y13"
RUNS_OR_PAIRS = "Y1 Y1 Y2 Y2 Y3 Y3 K5 K5 K6 K6 K7 K7 B1 B9"
"""Four runs and two lone tiles: two from a normal hand, one from seven pairs."""


def unseen(**copies: int) -> tuple[int, ...]:
    """Nothing but these tiles."""
    return (0, *(copies.get(tile.name, 0) for tile in Tile))


def improving(hand: str, goal: Goal = Goal.NORMAL) -> str:
    return rack_text(evaluate(parse_rack(hand), OKEY, goal, ALL_UNSEEN).improving)


@pytest.mark.parametrize(
    ("hand", "tiles"),
    [
        # The four melds take two tiles more, and one of them is missing yet.
        (f"{MELDS} K13 B8 R1", "R8 Y4 B4 B9 K1 K10"),
        # The sahte okey has the okey's face, which the run misses; the okey stands for it (T5).
        ("Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 B4 K4 R7 R9 K13", "R8 S"),
        # R10-R11-R12, or R12-R13-R1.
        ("Y1 Y2 Y3 B5 B6 B7 B8 K10 K11 K12 K13 R10 R12 R1", "R8 R11 R13"),
        # R2 or Y9 begins the fourth meld: any tile that goes with it helps.
        (
            "Y1 Y2 Y3 Y4 B5 B6 B7 B8 K10 K11 K12 R2 R2 Y9",
            "R8 R1 R3 R4 Y2 B2 K2 Y7 Y8 Y10 Y11 R9 B9 K9",
        ),
    ],
)
def test_an_improving_tile_lowers_the_distance(hand: str, tiles: str) -> None:
    """H2, H3, H4, T5, T6: no more and no less."""
    assert set(improving(hand).split()) == set(tiles.split())


def test_a_won_hand_cannot_be_improved() -> None:
    """H2: nor by an okey."""
    won = parse_rack(f"{MELDS} K13 B8 B9")
    assert evaluate(won, OKEY, Goal.NORMAL, ALL_UNSEEN).improving == ()


def test_lone_tiles_wait_for_their_twins() -> None:
    """H5, T6: and an okey pairs with either."""
    assert improving(f"{PAIRS} K1 K2", Goal.CIFT) == "R8 K1 K2"
    assert improving(f"{PAIRS[2:]} K1 K2 K3", Goal.CIFT) == "R8 K1 K2 K3 S"


def test_what_is_seen_cannot_come_any_more() -> None:
    """T1: of two copies of a tile, so many as lie neither in the rack nor open."""
    hand = parse_rack(f"{PAIRS} K1 K2")
    seen = evaluate(hand, OKEY, Goal.CIFT, unseen(K1=1, R8=2, K9=2))
    assert (seen.distance, seen.improving, seen.copies) == (1, (Tile.R8, Tile.K1), 3)


def test_either_goal_is_the_nearer_one() -> None:
    """H13: seven pairs finish as well, and of equals both are waited for."""
    hand = parse_rack(RUNS_OR_PAIRS)
    distances = {goal: distance_to(hand, OKEY, goal) for goal in Goal}
    assert distances == {Goal.NORMAL: 2, Goal.CIFT: 1, Goal.EITHER: 1}
    assert improving(RUNS_OR_PAIRS, Goal.EITHER) == improving(RUNS_OR_PAIRS, Goal.CIFT)
    nearer = f"{MELDS} K13 B8 R1"
    assert improving(nearer, Goal.EITHER) == improving(nearer, Goal.NORMAL)
    equal = "Y1 Y1 Y2 Y2 Y3 Y3 K5 K5 K6 K6 K7 K7 K8 B9"
    both = {*improving(equal, Goal.NORMAL).split(), *improving(equal, Goal.CIFT).split()}
    assert distance_to(parse_rack(equal), OKEY, Goal.NORMAL) == 1
    assert set(improving(equal, Goal.EITHER).split()) == both
    assert improving(equal, Goal.NORMAL) not in ("", improving(equal, Goal.EITHER))


def test_best_discards_keep_the_distance_and_leave_the_most_copies() -> None:
    """H7: the fifteenth goes; a tile that the distance needs is none of them."""
    rack = parse_rack(f"{MELDS} K13 B8 R1 R13")
    options = best_discards(rack, OKEY, Goal.NORMAL, ALL_UNSEEN)
    assert {option.tile for option in options} >= {Tile.R1, Tile.R13}
    assert Tile.Y2 not in {option.tile for option in options}
    copies = [option.rest.copies for option in options]
    assert copies == sorted(copies, reverse=True)
    for option in options:
        rest = [tile for tile in rack if tile != option.tile]
        assert option.rest == evaluate(rest, OKEY, Goal.NORMAL, ALL_UNSEEN)


def test_what_may_come_decides_the_discard() -> None:
    """T1: the waiting pair whose third tile has gone goes itself."""
    rack = parse_rack("Y1 Y2 Y3 B5 B6 B7 B8 K10 K11 K12 K13 R10 R12 R1 R2")
    first, *_others = best_discards(rack, OKEY, Goal.NORMAL, unseen(R3=1))
    assert first.tile in {Tile.R10, Tile.R12}
    first, *_others = best_discards(rack, OKEY, Goal.NORMAL, unseen(R11=1))
    assert first.tile in {Tile.R1, Tile.R2}


def test_a_won_rack_lays_any_tile_that_leaves_a_hand() -> None:
    """H7, H9: the okey to spare as well as another."""
    rack = parse_rack(f"{MELDS} K13 B8 B9 R8")
    options = best_discards(rack, OKEY, Goal.NORMAL, ALL_UNSEEN)
    assert all(option.rest.distance == 0 and not option.rest.improving for option in options)
    assert {Tile.R8, Tile.B9} <= {option.tile for option in options}


def test_the_arrangement_is_towards_the_goal() -> None:
    """H2, H5, H13: seven pairs where they are nearer, runs and groups where nothing is."""
    pairs, runs = parse_rack(RUNS_OR_PAIRS), parse_rack(f"{MELDS} K13 B8 R1")
    for goal in Goal:
        for tiles in (pairs, runs):
            shown = arrange_towards(tiles, OKEY, goal)
            assert shown.distance == distance_to(tiles, OKEY, goal)
    assert arrange_towards(pairs, OKEY, Goal.EITHER) == arrange_pairs(pairs, OKEY)
    assert arrange_towards(runs, OKEY, Goal.EITHER) == arrange(runs, OKEY)


@pytest.mark.parametrize("goal", Goal)
def test_the_number_of_tiles_matters(goal: Goal) -> None:
    """H1: 14 are evaluated, of 15 one is discarded."""
    with pytest.raises(WrongTileCount, match=r"^15 tiles where 14"):
        evaluate([Tile.R1] * 15, OKEY, goal, ALL_UNSEEN)
    with pytest.raises(WrongTileCount, match=r"^14 tiles where 15"):
        best_discards([Tile.R1] * 14, OKEY, goal, ALL_UNSEEN)
    with pytest.raises(WrongTileCount, match=r"^13 tiles where 14 or 15"):
        distance_to([Tile.R1] * 13, OKEY, goal)
