"""Drawing, discarding, finishing, by people and by AIs, and the neutral move."""

from dataclasses import replace

import pytest

from okey.rules.finish import FinishKind, FinishRejected
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import (
    AlreadyDrawn,
    MustDrawFirst,
    NotSeated,
    NotYourTurn,
    PileEmpty,
    TileNotInRack,
    TimerStale,
    TurnExpired,
    TurnOver,
)
from okey.table.reasons import RoundResult
from okey.table.state import Phase
from tests.factories import (
    CIFT,
    FAR,
    NORMAL,
    PILE,
    PLAYERS,
    STOCK,
    Driver,
    canak,
    dealt,
    kinds,
    klasik,
    rack,
    the,
    tie_break,
)


def second_turn() -> Driver:
    """Seat 1 is to move in its first turn and has not drawn; seat 0 discarded K2."""
    table = dealt()
    table.discard(Tile.K2)
    return table


# A turn


def test_a_turn_is_a_draw_and_a_discard() -> None:
    """U1: top of the stock into the hand, one tile onto the own pile, then the next seat."""
    table = second_turn()
    top = table.round.stock[0]
    assert table.draw() is top
    assert table.hand(1).rack == (*rack(FAR), top)
    events = table.discard(Tile.R1)
    assert kinds(events) == ["TileDiscarded", "TurnStarted"]
    assert table.hand(1).pile == (Tile.R1,)
    assert Tile.R1 not in table.hand(1).rack
    assert table.mover == 0


def test_play_goes_round_the_seats_in_order() -> None:
    """U1: the right neighbour is the next seat, the left neighbour the one before."""
    table = dealt(canak(4), starter=2)
    order = []
    for _ in range(5):
        order.append(table.mover)
        table.pass_turn()
    assert order == [2, 3, 0, 1, 2]


def test_the_left_neighbours_topmost_discard_may_be_taken() -> None:
    """U1: it leaves that pile, and only the topmost one does."""
    table = second_turn()
    table.pass_turn()
    table.draw()
    table.discard(Tile.R4)
    assert table.hand(0).pile == (Tile.K2, Tile.R4)
    stock = len(table.round.stock)
    assert table.draw(PILE) is Tile.R4
    assert table.hand(0).pile == (Tile.K2,)
    assert len(table.round.stock) == stock
    assert table.hand(1).rack.count(Tile.R4) == 2


def test_only_the_left_neighbours_pile_is_open() -> None:
    """U1: with four seats one takes from the seat before, not from any other."""
    table = dealt(canak(4))
    table.discard(Tile.K2)
    table.draw()
    table.discard(Tile.R1)
    assert table.mover == 2
    assert table.draw(PILE) is Tile.R1
    assert table.hand(0).pile == (Tile.K2,)


def test_an_empty_pile_gives_nothing() -> None:
    """U1: every seat has discarded before the next one draws, so this is a guard, not a rule."""
    table = second_turn()
    hands = (replace(table.hand(0), pile=()), table.hand(1))
    table.state = replace(table.state, round=replace(table.round, hands=hands))
    table.act_refused(c.Draw(PILE), PileEmpty)


def test_one_draw_a_turn() -> None:
    """U1: a second draw is refused, from either side."""
    table = second_turn()
    table.draw()
    table.act_refused(c.Draw(STOCK), AlreadyDrawn)
    table.act_refused(c.Draw(PILE), AlreadyDrawn)


def test_a_draw_from_the_pile_is_the_turns_draw_too() -> None:
    """U1: after it neither the stock nor what lies on the pile now is open."""
    table = second_turn()
    for _ in range(2):
        table.pass_turn()
    assert table.mover == 1
    assert table.hand(0).pile[0] is Tile.K2
    table.draw(PILE)
    assert table.hand(0).pile == (Tile.K2,)
    table.act_refused(c.Draw(STOCK), AlreadyDrawn)
    table.act_refused(c.Draw(PILE), AlreadyDrawn)


def test_no_discard_and_no_finish_before_the_draw() -> None:
    """U1, H7: both need the fifteenth tile."""
    table = second_turn()
    table.act_refused(c.Discard(Tile.R1), MustDrawFirst)
    table.arrange({1: NORMAL})
    table.act_refused(c.Finish(Tile.Y1), MustDrawFirst)


def test_only_held_tiles_are_laid() -> None:
    """U1, H7: a tile that is not in the rack is neither discarded nor laid on the gösterge."""
    table = dealt()
    table.act_refused(c.Discard(Tile.R13), TileNotInRack)
    table.act_refused(c.Finish(Tile.R13), TileNotInRack)


def test_the_starter_does_not_draw_in_its_first_turn_and_may_finish_at_once() -> None:
    """U2: it holds 15; its second turn begins with a draw."""
    table = dealt()
    table.act_refused(c.Draw(STOCK), AlreadyDrawn)
    table.pass_turn()
    table.pass_turn()
    assert table.mover == 0
    table.act_refused(c.Discard(Tile.R1), MustDrawFirst)
    table = dealt()
    table.arrange({0: f"{NORMAL} R13"})
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).result is RoundResult.WON


def test_the_tile_just_taken_may_be_discarded_again() -> None:
    """U3: from the pile too."""
    table = second_turn()
    table.draw(PILE)
    table.discard(Tile.K2)
    assert table.hand(1).pile == (Tile.K2,)


def test_an_okey_may_be_discarded_and_taken_and_is_wild_then() -> None:
    """U3: the taken okey completes a run."""
    table = dealt()
    table.arrange({0: f"{FAR} R8", 1: "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 R13"})
    table.discard(Tile.R8)
    assert table.draw(PILE) is Tile.R8
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.NORMAL


# One clock


def test_one_clock_a_turn_whatever_is_done_in_it() -> None:
    """U4, H8: drawing, announcing, taking back and a rejected finish do not set it anew."""
    table = second_turn()
    deadline = table.turn.deadline_ms
    assert deadline == table.now_ms + 60_000
    for action in (c.Draw(STOCK), c.AnnounceCift(), c.WithdrawCift()):
        table.wait(1_000)
        table.act(action)
        assert table.turn.deadline_ms == deadline
    table.act_refused(c.Finish(Tile.R1), FinishRejected)
    assert table.turn.deadline_ms == deadline


def test_the_next_turn_has_its_own_clock() -> None:
    """U4: the table's turn time from the discard on."""
    table = dealt(replace(canak(), turn_timeout_ms=15_000))
    table.wait(4_000)
    table.discard()
    assert table.turn.deadline_ms == table.now_ms + 15_000


# U12


def test_a_move_for_a_turn_that_is_over_is_refused_as_such() -> None:
    """U12: never applied to a later turn of the same seat."""
    table = dealt()
    old = table.move(c.Draw(STOCK))
    table.pass_turn()
    table.refused(old, TurnOver)
    table.pass_turn()
    assert table.mover == 0
    table.refused(old, TurnOver)


def test_a_double_click_moves_once() -> None:
    """U12: the second copy of a discard finds its turn over."""
    table = dealt()
    discard = table.move(c.Discard(Tile.K2))
    table.do(discard)
    table.refused(discard, TurnOver)


def test_only_the_seat_to_move_moves() -> None:
    """U12, U1: others are refused, spectators have no seat."""
    table = dealt()
    turn = table.turn.number
    table.refused(c.PlayerMove(PLAYERS[1], turn, c.Draw(STOCK)), NotYourTurn)
    table.refused(c.PlayerMove("x", turn, c.Draw(STOCK)), NotSeated)


def test_a_move_at_the_deadline_is_too_late_and_the_timer_counts() -> None:
    """U12: timer and move never both count: one millisecond decides."""
    table = dealt()
    table.now_ms = table.turn.deadline_ms
    table.act_refused(c.Discard(Tile.K2), TurnExpired)
    table.now_ms -= 1
    timer = table.timer(c.TimerKind.TURN)
    table.discard(Tile.K2)
    table.now_ms += 1
    table.refused(c.Expire(timer), TimerStale)


def test_turn_numbers_never_repeat_at_a_table() -> None:
    """U12: they go on over rounds, so a move of an old round finds no turn of its number."""
    table = dealt(klasik())
    first = table.turn.number
    old = table.move(c.Discard(Tile.K2))
    table.draw_round()
    table.refused(old, TurnOver)
    table.next_round()
    assert table.turn.number > first
    table.refused(old, TurnOver)


# Finishing


@pytest.mark.parametrize(
    ("hand", "laid", "announced", "finish"),
    [
        (NORMAL, "R13", False, FinishKind.NORMAL),
        (NORMAL, "R8", False, FinishKind.OKEY),
        (NORMAL, "S", False, FinishKind.NORMAL),
        (CIFT, "R13", True, FinishKind.CIFT),
        (CIFT, "R8", True, FinishKind.CIFT_OKEY),
        (CIFT, "R13", False, FinishKind.NORMAL),
        (CIFT, "R8", False, FinishKind.OKEY),
    ],
)
def test_how_a_finish_counts(hand: str, laid: str, announced: bool, finish: FinishKind) -> None:
    """H7, H9, H12, H13: by the tile laid (a sahte okey is none) and by the announcement."""
    table = dealt()
    table.arrange({0: f"{hand} {laid}"})
    if announced:
        table.act(c.AnnounceCift())
    ended = the(table.act(c.Finish(Tile.parse(laid))), e.RoundEnded)
    assert (ended.result, ended.seat, ended.finish) == (RoundResult.WON, 0, finish)
    assert ended.laid is Tile.parse(laid)
    assert sorted(ended.racks[0]) == sorted(rack(hand))


def test_an_okey_in_hand_is_no_okey_win() -> None:
    """H9: only the tile laid counts."""
    table = dealt()
    hand = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 R8"
    table.arrange({0: f"{hand} R13"})
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.NORMAL


def test_a_false_finish_is_no_event_and_the_turn_goes_on() -> None:
    """H8: the tile stays in the hand, nothing is told, and the discard still counts."""
    for table in (dealt(), dealt(klasik())):
        table.act_refused(c.Finish(Tile.K2), FinishRejected)
        assert len(table.hand(0).rack) == 15
        table.discard(Tile.K2)


def test_a_standing_announcement_accepts_only_cift() -> None:
    """H12: a normal hand is refused until it is taken back."""
    table = dealt()
    table.arrange({0: f"{NORMAL} R13"})
    table.act(c.AnnounceCift())
    table.act_refused(c.Finish(Tile.R13), FinishRejected)
    table.act(c.WithdrawCift())
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.NORMAL


def test_nothing_finishes_by_itself_for_people() -> None:
    """Ç6, H7: a finished hand that is not laid plays on; a neutral move does not finish it."""
    table = dealt()
    table.arrange({0: f"{NORMAL} R13"})
    events = table.time_out()
    assert kinds(events) == ["TurnTimedOut", "TileDiscarded", "TurnStarted"]
    assert table.is_in(Phase.PLAYING)


def test_a_tie_break_pays_any_finish_alike_and_pairs_unannounced() -> None:
    """K6, H13: seven pairs need no announcement there."""
    table = tie_break(0, 1, starter=0)
    table.arrange({0: f"{CIFT} R13"})
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.NORMAL


# The neutral move


def test_the_first_time_out_draws_and_discards_just_that() -> None:
    """U5: from the stock; the hand is what it was."""
    table = second_turn()
    top, before = table.round.stock[0], table.hand(1).rack
    events = table.time_out()
    assert events[:3] == (
        e.TurnTimedOut(1, 1),
        e.TileDrawn(1, STOCK, top, is_neutral=True),
        e.TileDiscarded(1, top, is_neutral=True),
    )
    assert table.hand(1).rack == before
    assert table.mover == 0


def test_a_starters_neutral_move_discards_its_fifteenth_tile() -> None:
    """U6, U2: no draw; the very first move of a game may time out."""
    table = dealt()
    table.arrange({0: f"{FAR} R8"})
    events = table.time_out()
    assert events[1] == e.TileDiscarded(0, Tile.R8, is_neutral=True)
    assert table.hand(0).rack == rack(FAR)


@pytest.mark.parametrize("source", [STOCK, PILE])
def test_what_was_drawn_already_is_discarded_an_okey_too(source: c.DrawSource) -> None:
    """U6: from stock or pile, exactly the drawn tile goes, even an okey."""
    table = dealt()
    table.arrange({0: f"{FAR} R8"}, stock="R8 Y1 Y1")
    table.discard(Tile.R8)
    assert table.draw(source) is Tile.R8
    events = table.time_out()
    assert kinds(events) == ["TurnTimedOut", "TileDiscarded", "TurnStarted"]
    assert events[1] == e.TileDiscarded(1, Tile.R8, is_neutral=True)
    assert table.hand(1).rack == rack(FAR)


def test_neutral_draws_never_come_from_the_pile() -> None:
    """U6: even where the pile holds an okey."""
    table = dealt()
    table.arrange({0: f"{FAR} R8"}, stock="Y1 Y1")
    table.discard(Tile.R8)
    assert the(table.time_out(), e.TileDrawn).tile is Tile.Y1
