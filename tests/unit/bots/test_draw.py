"""Where a bot draws from."""

import pytest

from okey.bots.choose import choose
from okey.rules.variant import BotLevel
from okey.table.commands import Draw, DrawSource
from okey.table.legal import LegalAction
from tests.unit.bots.views import view

ONE_AWAY = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 R13"
TWO_AWAY = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 R13 Y9"
STOCK, DISCARD = Draw(DrawSource.STOCK), Draw(DrawSource.DISCARD)
SKILLED = [BotLevel.NORMAL, BotLevel.STRONG]


@pytest.mark.parametrize("level", SKILLED)
@pytest.mark.parametrize(
    ("rack", "takeable", "expected"),
    [(TWO_AWAY, "K13", DISCARD), (ONE_AWAY, "K1", DISCARD), (ONE_AWAY, "R2", STOCK)],
)
def test_takes_a_discard_that_brings_the_finish_nearer(
    level: BotLevel, rack: str, takeable: str, expected: Draw
) -> None:
    """U1: the neighbour's discard is one of two places to draw from."""
    assert choose(view(rack, takeable=takeable), level, False, 1) == expected


@pytest.mark.parametrize("level", BotLevel)
def test_takes_an_okey(level: BotLevel) -> None:
    """U3: a taken okey is wild, so everyone takes one."""
    assert choose(view(TWO_AWAY, takeable="R8"), level, False, 1) == DISCARD


def test_easy_takes_only_what_finishes() -> None:
    assert choose(view(TWO_AWAY, takeable="K13"), BotLevel.EASY, False, 1) == STOCK
    assert choose(view(ONE_AWAY, takeable="K1"), BotLevel.EASY, False, 1) == DISCARD


def test_an_announced_cift_takes_pairs_only() -> None:
    """H12: a standing announcement binds, so a tile that only helps a normal hand is left lying."""
    seen = view(ONE_AWAY, takeable="K1", announced=True)
    assert choose(seen, BotLevel.NORMAL, False, 1) == STOCK
    seen = view(ONE_AWAY, takeable="R13", announced=True)
    assert choose(seen, BotLevel.NORMAL, False, 1) == DISCARD


def test_draws_from_where_it_may() -> None:
    assert choose(view(ONE_AWAY), BotLevel.NORMAL, False, 1) == STOCK
    only_pile = view(ONE_AWAY, [LegalAction.DRAW_DISCARD], takeable="R2")
    assert choose(only_pile, BotLevel.NORMAL, False, 1) == DISCARD


def test_an_unknown_discard_is_not_taken() -> None:
    both = [LegalAction.DRAW_STOCK, LegalAction.DRAW_DISCARD]
    assert choose(view(ONE_AWAY, both), BotLevel.NORMAL, False, 1) == STOCK
