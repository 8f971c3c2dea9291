"""The whole interface of a bot: which action, for whom, and that nothing else decides."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.bots.choose import answers, choose
from okey.bots.outlook import NotToMove, Outlook
from okey.rules.tile import FULL_SET, Tile, without
from okey.rules.variant import BotLevel
from okey.table.commands import Discard, Draw, DrawSource, Finish
from okey.table.legal import LegalAction
from okey.table.view import TableView
from tests.unit.bots.views import view

WON_WITH_ONE_TO_SPARE = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1 R2"
PAIRS = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11 K2 K13"

levels = st.sampled_from(BotLevel)
seeds = st.integers(0, 2**63 - 1)


def dealt(seed: int, count: int) -> tuple[Tile, ...]:
    """That many tiles of a set from which an R7 was turned up as gösterge."""
    return tuple(Random(seed).sample(without(FULL_SET, [Tile.R7]), count))


def after(seen: TableView, given_away: Tile) -> tuple[Tile, ...]:
    assert seen.round is not None
    return without(seen.round.rack, (given_away,))


@pytest.mark.deep
@given(seeds, levels, st.booleans(), seeds)
def test_the_same_view_and_seed_give_the_same_action(
    deal: int, level: BotLevel, is_stand_in: bool, seed: int
) -> None:
    seen = view(dealt(deal, 15))
    assert choose(seen, level, is_stand_in, seed) == choose(seen, level, is_stand_in, seed)


@pytest.mark.deep
@given(seeds, levels, seeds)
def test_a_discard_keeps_the_least_distance_and_every_okey(
    deal: int, level: BotLevel, seed: int
) -> None:
    """To a normal hand for EASY, to the nearer form for NORMAL; STRONG decides for one of them."""
    seen = view(dealt(deal, 15), [LegalAction.DISCARD])
    outlook = Outlook.of(seen)
    action = choose(seen, level, False, seed)
    assert isinstance(action, Discard)
    assert action.tile is not outlook.okey
    measures = {
        BotLevel.EASY: [outlook.to_normal],
        BotLevel.NORMAL: [outlook.to_finish],
        BotLevel.STRONG: [outlook.to_normal, outlook.to_cift],
    }[level]
    rest = after(seen, action.tile)
    assert any(measure(rest) == measure(outlook.rack) for measure in measures)


@pytest.mark.deep
@given(seeds, st.booleans(), seeds)
def test_stand_in_never_leaves_the_hand_further_from_a_finish(
    deal: int, announced: bool, seed: int
) -> None:
    """U8: a stand-in's draw and discard never make the hand's distance to a finish greater."""
    *rack, pile, stock = dealt(deal, 16)
    start = view(rack, takeable=pile.name, announced=announced)
    before = Outlook.of(start).to_finish(rack)
    drawn = choose(start, BotLevel.EASY, True, seed)
    assert isinstance(drawn, Draw)
    taken = pile if drawn.source is DrawSource.DISCARD else stock
    held = view((*rack, taken), announced=announced)
    action = choose(held, BotLevel.EASY, True, seed)
    assert isinstance(action, Discard)
    assert Outlook.of(held).to_finish(after(held, action.tile)) <= before


@pytest.mark.parametrize(
    ("rack", "legal"),
    [
        (WON_WITH_ONE_TO_SPARE, [LegalAction.DISCARD, LegalAction.FINISH]),
        (PAIRS + " K4", [LegalAction.DISCARD, LegalAction.ANNOUNCE_CIFT]),
        (WON_WITH_ONE_TO_SPARE + "", [LegalAction.DISCARD, LegalAction.WITHDRAW_CIFT]),
        ("R7 " + PAIRS, [LegalAction.DISCARD, LegalAction.SHOW_GOSTERGE]),
    ],
)
def test_stand_in_only_draws_and_discards(rack: str, legal: list[LegalAction]) -> None:
    """U8: a stand-in never announces, withdraws, shows or finishes, whatever is legal."""
    is_withdrawal = LegalAction.WITHDRAW_CIFT in legal
    seen = view(rack, legal, announced=is_withdrawal, people=[0], kasa=500)
    for level in (BotLevel.NORMAL, BotLevel.STRONG):
        assert isinstance(choose(seen, level, True, 1), Discard)
        assert not isinstance(choose(seen, level, False, 1), Discard)


@pytest.mark.deep
@given(seeds, seeds)
def test_stand_in_plays_like_normal_whatever_level_is_named(deal: int, seed: int) -> None:
    """W4: stand-ins are played by the normal bot."""
    seen = view(dealt(deal, 15), [LegalAction.DISCARD])
    played = {choose(seen, level, True, seed) for level in BotLevel}
    assert played == {choose(seen, BotLevel.NORMAL, False, seed)}


@pytest.mark.parametrize("count", [14, 15])
@pytest.mark.parametrize("level", BotLevel)
def test_there_is_an_answer_at_once_and_the_last_one_is_the_choice(
    level: BotLevel, count: int
) -> None:
    """Whoever runs out of time has a legal answer already; only a strong bot thinks on."""
    *rack, pile = dealt(3, count + 1)
    seen = view(rack, takeable=pile.name if count == 14 else None)
    given = list(answers(seen, level, False, 1))
    assert given[-1] == choose(seen, level, False, 1)
    assert len(given) == 1 or level is BotLevel.STRONG
    assert all(isinstance(action, Discard if count == 15 else Draw) for action in given)


def test_whoever_may_finish_finishes() -> None:
    """W4: a bot at any level takes the win that it holds."""
    for level in BotLevel:
        assert choose(view(WON_WITH_ONE_TO_SPARE), level, False, 1) == Finish(Tile.R2)


def test_only_the_seat_to_move_is_asked() -> None:
    """U1: one seat is to move."""
    with pytest.raises(NotToMove, match="it is seat 1's turn"):
        choose(view(PAIRS, to_move=1), BotLevel.NORMAL, False, 1)
    with pytest.raises(NotToMove, match="no turn is running"):
        choose(view(PAIRS, to_move=None), BotLevel.NORMAL, False, 1)
    with pytest.raises(NotToMove, match="no turn is running"):
        choose(replace(view(PAIRS), round=None), BotLevel.NORMAL, False, 1)


def test_without_a_legal_move_there_is_no_answer() -> None:
    """U10: a view that allows no move is refused, so that the engine makes the neutral move."""
    with pytest.raises(NotToMove, match="only FORFEIT"):
        choose(view(PAIRS, [LegalAction.FORFEIT]), BotLevel.NORMAL, False, 1)
    with pytest.raises(NotToMove, match="only nothing"):
        choose(view(PAIRS, []), BotLevel.NORMAL, False, 1)
