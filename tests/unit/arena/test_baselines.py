"""The arena's opponents, tile by tile as they are described."""

from collections.abc import Callable

import pytest

from okey.arena.baselines import play_by_neighbours, play_randomly, score
from okey.rules.tile import Tile, parse_rack
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Discard, Draw, DrawSource, Finish
from okey.table.legal import LegalAction as L
from tests.unit.bots.views import view

OKEY = Tile.R8
MELDS = "Y1 Y2 Y3 B5 B6 B7 R4 Y4 K4 K11 K12 K13"
STOCK, PILE = Draw(DrawSource.STOCK), Draw(DrawSource.DISCARD)
BOTH = [L.DRAW_STOCK, L.DRAW_DISCARD]


def neighbours(
    rack: str, legal: list[L] | None = None, takeable: str | None = None, seed: int = 1
) -> Action:
    return play_by_neighbours(view(rack, legal, takeable=takeable), BotLevel.EASY, False, seed)


def randomly(
    rack: str, legal: list[L] | None = None, takeable: str | None = None, seed: int = 1
) -> Action:
    return play_randomly(view(rack, legal, takeable=takeable), BotLevel.EASY, False, seed)


@pytest.mark.parametrize(
    ("tile", "others", "worth"),
    [
        ("R5", "R4 R6", 6),
        ("R5", "R6 R6", 6),
        ("R5", "R3 R7", 4),
        ("R5", "Y5 Y5 K5", 6),
        ("R5", "R5 Y6 R9", -2),
        ("R1", "R13 R12 R2 R3", 10),
        ("R13", "R1 R2", 3),
        ("R12", "R1", 2),
        ("R11", "R1", 0),
        ("S", "R9 S", 1),
        ("R9", "S", 3),
        ("R7", "R8 R8", 0),
    ],
)
def test_a_tile_is_worth_its_neighbours(tile: str, others: str, worth: int) -> None:
    """H3, T6: the 1 counts as 14 too, a sahte okey as the okey's face, an okey as nothing."""
    assert score(Tile.parse(tile), parse_rack(others), OKEY) == worth


def test_neighbours_gives_away_what_is_worth_least_and_keeps_okeys() -> None:
    assert neighbours(f"{MELDS} R8 R10 R11", [L.DISCARD]) == Discard(Tile.R10)
    assert neighbours(" ".join(["R8"] * 15), [L.DISCARD]) == Discard(OKEY)


def test_the_seed_decides_ties() -> None:
    rack = f"{MELDS} R10 Y8 K9"
    given = {neighbours(rack, [L.DISCARD], seed=seed) for seed in range(30)}
    assert given == {Discard(Tile.R10), Discard(Tile.Y8)}
    assert neighbours(rack, [L.DISCARD]) == neighbours(rack, [L.DISCARD])


@pytest.mark.parametrize(
    ("takeable", "draw"),
    [("R8", PILE), ("B4", PILE), ("Y3", STOCK), ("Y9", STOCK), ("R11", PILE), ("B13", STOCK)],
)
def test_neighbours_takes_okeys_and_tiles_of_worth_that_it_does_not_hold(
    takeable: str, draw: Draw
) -> None:
    """U1: B4 is worth 3 + 2 + 9 beside the others; Y3 is held; B13 is worth 3 for K13."""
    assert neighbours(f"{MELDS} R10 R12", BOTH, takeable) == draw


def test_neighbours_draws_from_where_it_may() -> None:
    assert neighbours(f"{MELDS} R10 R12", BOTH) == STOCK
    assert neighbours(f"{MELDS} R10 R12", [L.DRAW_STOCK], "R11") == STOCK
    assert neighbours(f"{MELDS} R10 R12", [L.DRAW_DISCARD], "Y9") == PILE


@pytest.mark.parametrize("play", [neighbours, randomly])
def test_both_finish_when_they_can_and_announce_nothing(play: Callable[..., Action]) -> None:
    """H13: seven pairs are finished without an announcement."""
    assert play(f"{MELDS} K1 B8 R2") == Finish(Tile.R2)
    pairs = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11 K13 K13 K2"
    assert play(pairs, [L.DISCARD, L.FINISH, L.ANNOUNCE_CIFT]) == Finish(Tile.K2)
    assert isinstance(play(f"{MELDS} R10 B12 Y9"), Discard)


def test_random_draws_and_discards_anything() -> None:
    rack = f"{MELDS} R8 R11 Y9"
    given = {randomly(rack, [L.DISCARD], seed=seed) for seed in range(200)}
    assert given == {Discard(tile) for tile in parse_rack(rack)}
    held = f"{MELDS} R8 R11"
    assert {randomly(held, BOTH, "R1", seed) for seed in range(20)} == {STOCK, PILE}
    assert randomly(held, [L.DRAW_STOCK]) == STOCK
    assert randomly(held, [L.DRAW_DISCARD], "R1") == PILE
