"""Which tile a bot gives away."""

import pytest

from okey.bots.choose import choose
from okey.bots.discard import neighbours
from okey.rules.tile import Tile, parse_rack
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Discard
from okey.table.legal import LegalAction
from tests.unit.bots.views import view

MELDS = "Y1 Y2 Y3 B5 B6 B7 R4 Y4 K4 K11 K12 K13"
OKEY = Tile.R8


def discard(rack: str, level: BotLevel, seed: int = 1, **about: object) -> Action:
    announced, piles = bool(about.get("announced")), about.get("piles", ("", ""))
    assert isinstance(piles, tuple)
    seen = view(rack, [LegalAction.DISCARD], announced=announced, piles=piles)
    return choose(seen, level, False, seed)


@pytest.mark.parametrize("level", BotLevel)
@pytest.mark.parametrize("seed", range(5))
def test_never_breaks_a_meld_needlessly(level: BotLevel, seed: int) -> None:
    action = discard(f"{MELDS} R10 B12 Y9", level, seed)
    assert action in {Discard(Tile.R10), Discard(Tile.B12), Discard(Tile.Y9)}


@pytest.mark.parametrize("level", [BotLevel.NORMAL, BotLevel.STRONG])
@pytest.mark.parametrize("seed", range(5))
def test_among_equals_the_most_useless_tile_goes(level: BotLevel, seed: int) -> None:
    assert discard(f"{MELDS} R10 R11 Y9", level, seed) == Discard(Tile.Y9)


def test_strong_counts_what_may_still_come() -> None:
    """Both R12 lie open, so R11 waits for nothing but R10 and the other numbers 11."""
    seen = ("R12 R12 R9 R9", "Y11 B11 Y11 B11")
    action = discard(f"{MELDS} R11 Y7 Y8", BotLevel.STRONG, piles=seen)
    assert action == Discard(Tile.R11)


@pytest.mark.parametrize("level", [BotLevel.NORMAL, BotLevel.STRONG])
def test_an_announced_cift_gives_away_the_tile_whose_twin_is_gone(level: BotLevel) -> None:
    """H12: only seven pairs count, and a tile whose twin lies open can never become one."""
    rack = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11 K2 K3 K4"
    assert discard(rack, level, announced=True, piles=("K3", "Y1")) == Discard(Tile.K3)


def test_the_seed_decides_among_equals() -> None:
    rack = f"{MELDS} R10 B12 Y9"
    assert len({discard(rack, BotLevel.EASY, seed) for seed in range(20)}) == 3


def test_only_okeys_are_discarded_only_then() -> None:
    """U3: an okey may be discarded, and a bot does so when it holds nothing else."""
    assert discard(" ".join(["R8"] * 15), BotLevel.NORMAL) == Discard(Tile.R8)


@pytest.mark.parametrize(
    ("tile", "rest", "help_expected"),
    [
        ("R5", "R6 R4", 6),
        ("R5", "R7 R3", 4),
        ("R5", "Y5 K5", 6),
        ("R5", "R5", -2),
        ("R5", "Y6 R9", 0),
        ("R1", "R13 R12 R2 R3", 10),
        ("R13", "R1", 3),
        ("R12", "R1", 2),
        ("S", "R9", 3),
        ("R9", "S", 3),
        ("R5", "R8", 0),
        ("R8", "R9", 0),
    ],
)
def test_neighbours_count_what_could_become_a_meld(
    tile: str, rest: str, help_expected: int
) -> None:
    """T5, T6: an okey helps every tile alike, a sahte okey counts as the okey's face."""
    assert neighbours(Tile.parse(tile), parse_rack(rest), OKEY) == help_expected
