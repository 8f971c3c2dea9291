"""What a discard may be to the next player."""

import pytest

from okey.bots.gift import gift
from okey.bots.outlook import Outlook
from okey.rules.tile import Tile
from tests.unit.bots.views import view

RACK = "Y1 Y2 Y3 B5 B6 B7 B8 Y4 K11 K12 K13 K1 Y11 B10 K6"


def cost(
    tile: str, piles: tuple[str, str] = ("", ""), taken: str = "", gosterge: str = "R7"
) -> float:
    """Of giving the tile to seat 1."""
    seen = view(RACK, piles=piles, taken=("", taken), gosterge=gosterge)
    return gift(Tile.parse(tile), Outlook.of(seen), *seen.seats)


def test_a_tile_whose_neighbours_are_gone_is_no_gift() -> None:
    """U1: only the next player can take it, and needs tiles beside it."""
    assert cost("R10") > cost("R10", ("R9 R9 R11", "R11 R12 Y10")) > 0


@pytest.mark.parametrize("number", [2, 7, 12])
def test_an_end_of_the_numbers_fits_fewer_runs(number: int) -> None:
    """H3: 12-13-1 is a run, 13-1-2 is not."""
    assert cost("R1") < cost(f"R{number}")


def test_a_1_stands_after_the_13() -> None:
    """H3"""
    assert cost("R13") > cost("R13", ("R1 R1", ""))
    assert cost("R2") > cost("R2", ("R1 R1", ""))


def test_who_gave_the_same_tile_away_does_not_want_it() -> None:
    assert cost("R10", ("", "R10")) < cost("R10", ("", "R3"))


def test_who_let_the_same_tile_lie_or_holds_one_does_not_want_it() -> None:
    """U1: what is left on one's own pile was refused."""
    assert cost("R10", ("R10", "")) < cost("R10", ("R3", ""))
    assert cost("R10", taken="R10") < cost("R10", taken="R3")


@pytest.mark.parametrize("taken", ["R8", "R9", "R11", "R12", "Y10"])
def test_who_took_a_tile_beside_it_wants_it(taken: str) -> None:
    """U1: what others took is the best sign of what they collect."""
    assert cost("R10", taken=taken, gosterge="K9") > cost("R10", taken="B3", gosterge="K9")


def test_who_took_a_13_wants_a_1_and_who_took_an_okey_nothing_in_particular() -> None:
    """H3; T5: R8 is the okey."""
    assert cost("R1", taken="R13") > cost("R1", taken="B3")
    assert cost("R9", taken="R8") == pytest.approx(cost("R9", taken="B3"))
    assert cost("R9", taken="S") > cost("R9", taken="B3")


def test_a_sahte_okey_is_the_okeys_face_and_an_okey_has_none() -> None:
    """T5, T6: R8 is the okey, so its face is seen where sahte okeys are."""
    assert cost("S") == pytest.approx(cost("S", ("K2", "")))
    assert cost("R9") > cost("R9", ("S S", ""))
    assert cost("R8") == 0


def test_a_tile_that_another_took_is_seen_and_ones_own_is_counted_once() -> None:
    """U1: a taken tile lies in a rack that everybody knows it is in."""
    seen = view("R1 Y1 Y2 Y3 B5 B6 B7 B8 Y4 K11 K12 K13 K1 Y11", taken=("R1", "R9 R9 K2"))
    unseen = Outlook.of(seen).unseen
    assert [unseen[tile] for tile in (Tile.R1, Tile.R9, Tile.K2, Tile.R10)] == [1, 0, 1, 2]
