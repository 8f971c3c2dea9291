"""The strong bot weighs what a choice is expected to bring: chances times payouts."""

from collections.abc import Sequence

import pytest

from okey.bots.choose import answers, choose
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel, Mode, Variant
from okey.table.commands import (
    Action,
    AnnounceCift,
    Discard,
    Draw,
    DrawSource,
    Finish,
    WithdrawCift,
)
from okey.table.legal import LegalAction as L
from okey.table.view import TableView
from tests.unit.bots.views import view

WON = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 K1"
WON_BY_OKEY = WON.replace("K12", "R8")
SIX_PAIRS = "R1 R1 R3 R3 Y5 Y5 Y7 Y7 B9 B9 B11 B11"
STOCK, PILE = Draw(DrawSource.STOCK), Draw(DrawSource.DISCARD)
ALL = [L.DISCARD, L.FINISH, L.ANNOUNCE_CIFT]
WITHDRAWING = [L.DISCARD, L.FINISH, L.WITHDRAW_CIFT]


def strong(seen: TableView) -> Action:
    return choose(seen, BotLevel.STRONG, False, 1)


@pytest.mark.parametrize(
    ("kasa", "people", "expected"),
    [
        (10, [0], Finish(Tile.R1)),
        (50_000, [0], Discard(Tile.R1)),
        (50_000, [], Finish(Tile.R1)),
    ],
)
def test_waits_for_an_okey_win_where_the_kasa_is_worth_it(
    kasa: int, people: Sequence[int], expected: Action
) -> None:
    """Ç4, Ç11: an okey win takes the kasa too, but not for the house."""
    seen = view(f"{WON_BY_OKEY} R1", people=people, kasa=kasa, own_turns=9)
    assert strong(seen) == expected
    assert next(answers(seen, BotLevel.STRONG, False, 1)) == Finish(Tile.R1)


def test_lays_the_okey_at_once_where_it_can_be_spared() -> None:
    """H9: then there is nothing to wait for."""
    assert strong(view(f"{WON} R8", people=[0], kasa=50_000)) == Finish(Tile.R8)


def test_any_end_of_a_long_run_can_be_laid() -> None:
    """H7: of finishes that pay alike it takes the first."""
    assert strong(view(f"{WON} B9")) == Finish(Tile.B5)


@pytest.mark.parametrize(("takeable", "draw"), [("K12", PILE), ("R1", STOCK)])
def test_while_it_waits_it_takes_only_what_frees_the_okey(takeable: str, draw: Draw) -> None:
    """U1, H9: whatever it draws it can finish, so the stock costs nothing."""
    assert strong(view(WON_BY_OKEY, takeable=takeable, people=[0], kasa=50_000)) == draw


@pytest.mark.parametrize(
    ("own_turns", "people", "expected"),
    [(3, [0], AnnounceCift), (2, [0], Discard), (3, [], Discard)],
)
def test_announces_in_the_last_turn_in_which_it_can_if_that_brings_more(
    own_turns: int, people: Sequence[int], expected: type[Action]
) -> None:
    """H10, Ç4, Ç11: nobody has to know before, and for the house çift pays no more."""
    seen = view(f"{SIX_PAIRS} K13 B2 Y2", ALL, own_turns=own_turns, people=people, kasa=500)
    assert isinstance(strong(seen), expected)


def test_announces_right_before_a_finish_that_then_pays_more() -> None:
    """H10, Ç4, Ç5: in Çanak the kasa comes on top, for both at once the bonus too."""
    for spare in ("Y2", "R8"):
        pairs = f"{SIX_PAIRS} K13 K13 {spare}"
        seen = view(pairs, ALL, people=[0], kasa=500, own_turns=1)
        assert strong(seen) == AnnounceCift()
        announced = view(pairs, ALL, people=[0], kasa=500, own_turns=1, announced=True)
        assert strong(announced) == Finish(Tile.parse(spare))
    assert strong(view(f"{SIX_PAIRS} K13 K13 Y2", ALL)) == Finish(Tile.Y2)


def test_does_not_announce_what_is_far_or_less_likely() -> None:
    for rack in ("R1 R1 R5 R5 Y9 Y9 B13 K1 B2 B7 Y4 K3 K8 Y12 R10", f"{WON[:-3]} B12 R12"):
        seen = view(rack, [L.DISCARD, L.ANNOUNCE_CIFT], people=[0], kasa=40)
        assert isinstance(strong(seen), Discard)


@pytest.mark.parametrize(
    ("rack", "is_twin"),
    [
        ("R2 R2 R6 R6 R11 R11 Y2 B3 B8 B9 B11 B11 B13 K11 K13", True),
        (f"{SIX_PAIRS} K13 B2 Y2", False),
    ],
)
def test_breaks_pairs_up_where_melds_are_further_but_likelier(rack: str, is_twin: bool) -> None:
    """H13: three exchanges from pairs is further than four from melds; one is not."""
    given = strong(view(rack, [L.DISCARD], own_turns=5))
    assert isinstance(given, Discard)
    assert (rack.split().count(str(given.tile)) == 2) is is_twin


def test_takes_the_announcement_back_if_another_hand_brings_more() -> None:
    """H11, H12: a standing announcement binds."""
    won = view(f"{WON} R1", WITHDRAWING, people=[0], kasa=40, announced=True)
    assert strong(won) == WithdrawCift()
    near = view(f"{SIX_PAIRS} K13 B2 Y2", WITHDRAWING, people=[0], kasa=500, announced=True)
    assert isinstance(strong(near), Discard)


@pytest.mark.parametrize(
    ("rack", "takeable", "draw"),
    [
        (WON[:-3] + " Y9", "K1", PILE),
        ("R1 R2 R3 Y5 Y6 Y7 B9 B10 B11 K2 K13 Y12 K6 R11", "K7", PILE),
        ("R1 R2 R3 Y5 Y6 Y7 B9 B10 B11 K2 K3 Y12 Y13 R11", "K8", STOCK),
        (WON[:-3] + " Y9", "R8", PILE),
    ],
)
def test_takes_what_finishes_and_what_makes_finishing_likelier(
    rack: str, takeable: str, draw: Draw
) -> None:
    """U1: also a tile that brings the hand no nearer, if the next one then comes more easily."""
    assert strong(view(rack, takeable=takeable)) == draw


@pytest.mark.parametrize(
    ("rack", "thoughts"),
    [
        # The last tile: with B10 gone more of what may come makes the wait better.
        ("Y2 B11 Y11 Y9 B1 K9 K13 Y3 R11 B9 B3 K11 B4 Y4 B10", "K13 K13 B10"),
        # Two away: fewer tiles bring it nearer without B7, but more finish it then.
        ("B7 B12 Y8 Y4 K12 Y1 R8 Y2 B8 K11 R8 B11 Y9 K13 K12", "K12 K12 B7 B7 B7"),
        # Six away: the hand that stays decides alone.
        ("R1 R5 R9 R13 Y3 Y7 Y11 B1 B5 B9 B13 K3 K7 K11 Y2", "Y7 Y2 R1"),
    ],
)
def test_looks_at_the_good_discards_one_draw_further(rack: str, thoughts: str) -> None:
    """U1: the answers come as a series; its second part begins with the best of the first."""
    seen = view(rack, [L.DISCARD], own_turns=4)
    expected = [Discard(Tile.parse(tile)) for tile in thoughts.split()]
    assert list(answers(seen, BotLevel.STRONG, False, 1)) == expected


def test_draws_from_where_it_may() -> None:
    assert strong(view(WON)) == STOCK
    assert strong(view(WON, [L.DRAW_STOCK], takeable="R8")) == STOCK
    assert strong(view(WON, [L.DRAW_DISCARD], takeable="R2")) == PILE
    assert strong(view(WON, [L.DRAW_STOCK, L.DRAW_DISCARD])) == STOCK


def test_of_two_useless_tiles_it_keeps_the_one_that_the_next_player_could_use() -> None:
    """U1: the next player alone can take it; K9 fits nothing that is left, R10 may."""
    piles = ("", "K7 K8 K10 K11 K7 K8 K10 K11 R9 Y9 B9 R9 Y9 B9")
    rack = "Y1 Y2 Y3 B5 B6 B7 R4 Y4 K4 K13 K1 Y12 B12 R6 K9"
    given = {
        choose(view(rack, [L.DISCARD], piles=piles), BotLevel.STRONG, False, seed)
        for seed in range(5)
    }
    assert given == {Discard(Tile.K9)}


@pytest.mark.parametrize(("taken", "given"), [("R4 R6", Tile.K9), ("K8 K10", Tile.R5)])
def test_of_two_useless_tiles_it_keeps_the_one_beside_what_the_next_player_took(
    taken: str, given: Tile
) -> None:
    """U1: everybody saw what he took."""
    rack = "Y1 Y2 Y3 Y4 B5 B6 B7 B8 Y11 Y12 Y13 B1 B2 R5 K9"
    assert strong(view(rack, [L.DISCARD], taken=("", taken))) == Discard(given)


def test_a_hand_of_nothing_but_okeys_gives_one_away() -> None:
    """U3, H6: no deal reaches it, and there is an answer all the same."""
    assert strong(view(" ".join(["R8"] * 15), [L.DISCARD])) == Discard(Tile.R8)


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.ESLI])
def test_plays_at_tables_of_four_and_with_a_partner(mode: Mode) -> None:
    """O2: a partner's finish is as good as one's own."""
    seen = view(f"{WON[:-3]} R1 R10", [L.DISCARD], piles=("", "", "", ""), mode=mode)
    assert strong(seen) in {Discard(Tile.R1), Discard(Tile.R10)}


def test_klasik_waits_for_double_points_only_while_they_count() -> None:
    """K2, K4: an okey win takes twice as much; not from who has no more than a normal one takes."""
    rack = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 R8 R1"
    klasik = Variant.KLASIK
    early = view(rack, variant=klasik, points=(20, 20), people=[0, 1], own_turns=1)
    assert isinstance(strong(early), Discard)
    nearly_over = view(rack, variant=klasik, points=(20, 2), people=[0, 1], own_turns=1)
    assert isinstance(strong(nearly_over), Finish)


@pytest.mark.parametrize(
    ("points", "expected"), [((3, 20, 1, 9), Discard), ((19, 20, 1, 9), Finish)]
)
def test_klasik_does_not_end_the_match_for_somebody_else(
    points: Sequence[int], expected: type[Action]
) -> None:
    """K4, K5: such a finish loses the match; as long as the round lasts it is not lost."""
    seen = view(
        f"{WON} R1",
        piles=("", "", "", ""),
        variant=Variant.KLASIK,
        points=points,
        people=range(4),
    )
    assert isinstance(strong(seen), expected)
