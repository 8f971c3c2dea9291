"""What a house seat's bot declares: gösterge, çift, finish."""

import pytest

from okey.bots.choose import choose
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel, Variant
from okey.table.commands import (
    AnnounceCift,
    Discard,
    Draw,
    Finish,
    ShowGosterge,
    WithdrawCift,
)
from okey.table.legal import LegalAction as L
from tests.unit.bots.views import view

NORMAL_HAND = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
SIX_PAIRS = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11"
ALL = [L.DISCARD, L.FINISH, L.ANNOUNCE_CIFT]


@pytest.mark.parametrize("level", BotLevel)
def test_lays_the_okey_when_it_can_be_spared(level: BotLevel) -> None:
    """H9, K2: an okey laid on the gösterge makes it an okey win, which pays more."""
    assert choose(view(f"{NORMAL_HAND} R8"), level, False, 1) == Finish(Tile.R8)


def test_keeps_an_okey_that_the_hand_needs() -> None:
    rack = NORMAL_HAND.replace("K12", "R8") + " R1"
    assert choose(view(rack), BotLevel.NORMAL, False, 1) == Finish(Tile.R1)


def test_announces_before_a_finish_that_then_pays_more() -> None:
    """H10, K2: announcing right before finishing is allowed, and çift pays more."""
    pairs = f"{SIX_PAIRS} K13 K13 Y2"
    assert choose(view(pairs, ALL), BotLevel.NORMAL, False, 1) == AnnounceCift()
    assert choose(view(pairs, ALL, announced=True), BotLevel.NORMAL, False, 1) == Finish(Tile.Y2)


def test_announces_only_where_it_adds_to_the_win() -> None:
    """H9, H13: an announcement adds to seven pairs with an okey laid, not to a normal hand."""
    assert choose(view(f"{SIX_PAIRS} K13 K13 R8", ALL), BotLevel.NORMAL, False, 1) == AnnounceCift()
    assert choose(view(f"{NORMAL_HAND} R8", ALL), BotLevel.NORMAL, False, 1) == Finish(Tile.R8)


def test_seven_pairs_finish_as_normal_when_announcing_is_over() -> None:
    """H13: seven pairs without an announcement are a valid finish."""
    pairs = f"{SIX_PAIRS} K13 K13 Y2"
    assert choose(view(pairs), BotLevel.NORMAL, False, 1) == Finish(Tile.Y2)


def test_easy_never_announces() -> None:
    pairs = f"{SIX_PAIRS} K13 K13 Y2"
    assert choose(view(pairs, ALL), BotLevel.EASY, False, 1) == Finish(Tile.Y2)
    near = f"{SIX_PAIRS} K13 B2 Y2"
    assert isinstance(choose(view(near, ALL), BotLevel.EASY, False, 1), Discard)


def test_announces_when_pairs_are_clearly_nearer() -> None:
    """H10: announced in an own turn, before or after the draw."""
    assert choose(view(f"{SIX_PAIRS} K13 B2 Y2", ALL), BotLevel.NORMAL, False, 1) == AnnounceCift()
    before_draw = view(f"{SIX_PAIRS} K13 B2", [L.DRAW_STOCK, L.ANNOUNCE_CIFT])
    assert choose(before_draw, BotLevel.NORMAL, False, 1) == AnnounceCift()


def test_does_not_announce_for_a_small_or_distant_lead() -> None:
    near_both = f"{NORMAL_HAND[:-3]} R1"
    assert isinstance(
        choose(view(near_both, [L.DRAW_STOCK, L.ANNOUNCE_CIFT]), BotLevel.NORMAL, False, 1), Draw
    )
    four_pairs = "R1 R1 R5 R5 Y9 Y9 K13 K13 B2 B7 Y4 K3 K8 Y12"
    distant = view(four_pairs, [L.DRAW_STOCK, L.ANNOUNCE_CIFT])
    assert isinstance(choose(distant, BotLevel.NORMAL, False, 1), Draw)


def test_does_not_announce_twice() -> None:
    seen = view(f"{SIX_PAIRS} K13 B2 Y2", ALL, announced=True)
    assert isinstance(choose(seen, BotLevel.NORMAL, False, 1), Discard)


def test_takes_the_announcement_back_when_a_normal_hand_is_nearer() -> None:
    """H11, H12: a standing announcement binds, so a won normal hand needs it taken back first."""
    legal = [L.DISCARD, L.FINISH, L.WITHDRAW_CIFT]
    won = view(f"{NORMAL_HAND} R1", legal, announced=True)
    assert choose(won, BotLevel.NORMAL, False, 1) == WithdrawCift()
    pairs = view(f"{SIX_PAIRS} K13 B2 Y2", legal, announced=True)
    assert isinstance(choose(pairs, BotLevel.NORMAL, False, 1), Discard)
    not_announced = view(f"{NORMAL_HAND[:-3]} R9 R1", legal)
    assert isinstance(choose(not_announced, BotLevel.NORMAL, False, 1), Discard)


@pytest.mark.parametrize("level", BotLevel)
def test_shows_the_second_gosterge_first(level: BotLevel) -> None:
    """K3: the second copy of the gösterge, in the first own turn, before drawing."""
    legal = [L.DRAW_STOCK, L.SHOW_GOSTERGE]
    holder = view(f"R7 {SIX_PAIRS} K13", legal, variant=Variant.KLASIK)
    assert choose(holder, level, False, 1) == ShowGosterge()
    other = view(f"K12 {SIX_PAIRS} K13", legal, variant=Variant.KLASIK)
    assert isinstance(choose(other, level, False, 1), Draw)
