"""Announcing çift, taking it back, showing the gösterge; who contends."""

import pytest

from okey.rules.finish import FinishKind, FinishRejected
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SET_2026_11, RuleSet
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.checks import contenders
from okey.table.errors import CiftNotOpen, GostergeNotOpen, NotYourTurn
from tests.factories import (
    CIFT,
    FAR,
    GOSTERGE,
    NORMAL,
    PLAYERS,
    Driver,
    canak,
    dealt,
    esli,
    kinds,
    klasik,
    the,
    tie_break,
)

SECOND_COPY = FAR.replace("Y8", "R7")
"""FAR with the second copy of the gösterge R7."""


def in_own_turn(seat: int, number: int, table: Driver) -> Driver:
    """The seat is in its ``number``-th own turn and has drawn."""
    while table.mover != seat or table.hand(seat).own_turns < number:
        table.pass_turn()
    if table.turn.drawn is None:
        table.draw()
    return table


# Announcing


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("own_turn", [1, 2, 3])
def test_cift_is_announced_in_the_first_three_own_turns(seat: int, own_turn: int) -> None:
    """H10: the starter's first turn counts as its first."""
    table = in_own_turn(seat, own_turn, dealt())
    assert table.act(c.AnnounceCift()) == (e.CiftAnnounced(seat),)


@pytest.mark.parametrize("seat", [0, 1])
def test_the_fourth_own_turn_is_too_late(seat: int) -> None:
    """H10: also for the starter, and before the draw as after it."""
    table = in_own_turn(seat, 3, dealt())
    table.pass_turn()
    table.pass_turn()
    table.act_refused(c.AnnounceCift(), CiftNotOpen)
    table.draw()
    table.act_refused(c.AnnounceCift(), CiftNotOpen)


def test_cift_is_announced_before_the_draw_as_well() -> None:
    """H10: any time in the own turn before its discard."""
    table = dealt()
    table.pass_turn()
    assert table.turn.drawn is None
    table.act(c.AnnounceCift())


def test_cift_is_announced_in_ones_own_turn_only() -> None:
    """H10, H11: neither announced nor taken back while another is to move."""
    table = dealt()
    turn = table.turn.number
    table.refused(c.PlayerMove(PLAYERS[1], turn, c.AnnounceCift()), NotYourTurn)
    table.act(c.AnnounceCift())
    table.discard()
    table.refused(c.PlayerMove(PLAYERS[0], table.turn.number, c.WithdrawCift()), NotYourTurn)


def test_turns_of_the_system_and_of_stand_ins_count() -> None:
    """H10: two turns timed out, one was the stand-in's: the fourth is too late."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    table.pass_until(0)
    table.pass_turn()
    table.pass_until(0)
    table.do(c.ReturnToSeat(PLAYERS[0]))
    assert table.hand(0).own_turns == 4
    table.act_refused(c.AnnounceCift(), CiftNotOpen)


def test_cift_may_be_announced_right_before_finishing() -> None:
    """H10: in the same turn, and it counts."""
    table = in_own_turn(0, 3, dealt())
    table.arrange({0: f"{CIFT} R13"})
    table.act(c.AnnounceCift())
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.CIFT


def test_cift_is_announced_once_while_it_stands() -> None:
    """H10: a second announcement would move the two turns of H11."""
    table = dealt()
    table.act(c.AnnounceCift())
    table.act_refused(c.AnnounceCift(), CiftNotOpen)


# Taking it back


@pytest.mark.parametrize("announced_in", [1, 2, 3])
@pytest.mark.parametrize("later", [0, 1, 2])
def test_cift_is_taken_back_until_the_second_own_turn_after(announced_in: int, later: int) -> None:
    """H11: from the announcing turn on until the end of the second one after it."""
    table = in_own_turn(0, announced_in, dealt())
    table.act(c.AnnounceCift())
    in_own_turn(0, announced_in + later, table)
    assert table.act(c.WithdrawCift()) == (e.CiftWithdrawn(0),)


def test_the_third_own_turn_after_is_too_late() -> None:
    """H11: the announcement stands for the rest of the round then, and binds (H12)."""
    table = dealt()
    table.act(c.AnnounceCift())
    in_own_turn(0, 4, table)
    table.act_refused(c.WithdrawCift(), CiftNotOpen)
    table.arrange({0: f"{NORMAL} R13"})
    table.act_refused(c.Finish(Tile.R13), FinishRejected)


def test_turns_that_timed_out_count_for_taking_back() -> None:
    """H11: system turns are counted."""
    table = dealt()
    table.act(c.AnnounceCift())
    table.time_out()
    in_own_turn(0, 4, table)
    table.act_refused(c.WithdrawCift(), CiftNotOpen)


def test_what_was_not_announced_is_not_taken_back() -> None:
    """H11: nor a second time."""
    table = dealt()
    table.act_refused(c.WithdrawCift(), CiftNotOpen)
    table.act(c.AnnounceCift())
    table.act(c.WithdrawCift())
    table.act_refused(c.WithdrawCift(), CiftNotOpen)


def test_announcing_again_only_while_the_first_three_turns_last() -> None:
    """H11, H10: taken back in the third turn it may be announced again; in the fourth not."""
    table = in_own_turn(0, 3, dealt())
    table.act(c.AnnounceCift())
    table.act(c.WithdrawCift())
    table.act(c.AnnounceCift())
    in_own_turn(0, 4, table)
    table.act(c.WithdrawCift())
    table.act_refused(c.AnnounceCift(), CiftNotOpen)


def test_in_esli_only_the_finishers_announcement_counts() -> None:
    """H11, O2: the partner's announcement neither binds nor pays."""
    table = dealt(esli())
    table.act(c.AnnounceCift())
    table.pass_until(2)
    table.draw()
    table.arrange({2: f"{CIFT} R13"})
    ended = the(table.act(c.Finish(Tile.R13)), e.RoundEnded)
    assert ended.finish is FinishKind.NORMAL


def test_an_announcement_ends_with_its_round() -> None:
    """H10: the next round begins without it, with three turns to announce."""
    table = dealt(klasik())
    table.act(c.AnnounceCift())
    table.draw_round()
    table.next_round()
    assert [hand.announced_at for hand in table.round.hands] == [0, 0]
    table.act(c.AnnounceCift())


# The gösterge


def test_the_gosterge_takes_a_point_from_each_opponent() -> None:
    """K3: shown before drawing in the first own turn; the turn goes on."""
    table = dealt(klasik(4))
    table.pass_turn()
    table.arrange({1: SECOND_COPY})
    events = table.act(c.ShowGosterge())
    assert events == (e.GostergeShown(1), e.PointsTaken(1, 1, (19, 20, 19, 19)))
    assert table.points == (19, 20, 19, 19)
    assert table.mover == 1
    table.draw()


def test_the_starter_shows_before_its_first_discard() -> None:
    """K3: its fifteenth tile counts as drawn and does not close the window; a rejected finish
    neither.
    """
    table = dealt(klasik())
    table.arrange({0: f"{SECOND_COPY} K2"})
    table.act_refused(c.Finish(Tile.K2), FinishRejected)
    table.act(c.ShowGosterge())
    table.pass_turn()
    table.pass_turn()
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_the_starters_fifteenth_tile_may_be_the_second_copy() -> None:
    """K3, U2: it was dealt, not drawn."""
    table = dealt(klasik())
    table.arrange({0: f"{FAR} R7"})
    table.act(c.ShowGosterge())


def test_the_gosterge_is_not_shown_after_drawing() -> None:
    """K3: nor by one who drew it just now."""
    table = dealt(klasik())
    table.pass_turn()
    table.arrange({1: SECOND_COPY})
    table.draw()
    assert "before drawing" in table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_the_gosterge_is_shown_in_the_first_own_turn_only() -> None:
    """K3: the window is over for this round, and open again in the next one."""
    table = dealt(klasik())
    for _ in range(3):
        table.pass_turn()
    table.arrange({1: SECOND_COPY})
    assert table.hand(1).own_turns == 2
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)
    table.draw_round()
    table.next_round()
    table.arrange({table.mover: f"{SECOND_COPY} K2"})
    table.act(c.ShowGosterge())


def test_the_gosterge_is_shown_once_a_player_and_round() -> None:
    """K3: a second time takes nothing; another player may still show (a copy, here, too many)."""
    table = dealt(klasik())
    table.arrange({0: f"{SECOND_COPY} K2", 1: SECOND_COPY})
    table.act(c.ShowGosterge())
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)
    assert table.points == (20, 19)
    table.discard()
    table.act(c.ShowGosterge())
    assert table.points == (19, 19)


@pytest.mark.parametrize("other", ["S", "R8", "Y7"])
def test_nothing_stands_in_for_the_second_copy(other: str) -> None:
    """K3: neither a sahte okey nor an okey nor another colour."""
    table = dealt(klasik())
    table.arrange({0: f"{FAR} {other}"})
    assert str(GOSTERGE) in table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_a_first_turn_of_the_system_uses_the_window_up() -> None:
    """K3, U5: the turn timed out, so the first own turn is over."""
    table = dealt(klasik())
    table.time_out()
    table.pass_turn()
    table.arrange({0: SECOND_COPY})
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_a_first_turn_of_a_stand_in_uses_the_window_up() -> None:
    """K3, U8: it minds the seat since the round before; what it drew closes the window."""
    table = dealt(klasik())
    table.away(0)
    table.pass_turn()
    table.draw_round()
    table.next_round()
    assert table.mover == 1, "seat 0 is not the starter"
    table.pass_turn()
    table.arrange({0: SECOND_COPY}, stock="K2 K2 K2")
    table.draw()
    table.do(c.ReturnToSeat(PLAYERS[0]))
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_who_is_back_before_the_stand_in_has_moved_may_still_show() -> None:
    """K3, U8: the window is the turn, not the clock."""
    table = dealt(klasik())
    table.away(0)
    table.pass_turn()
    table.draw_round()
    table.next_round()
    table.pass_turn()
    table.arrange({0: SECOND_COPY})
    table.do(c.ReturnToSeat(PLAYERS[0]))
    table.act(c.ShowGosterge())


def test_canak_knows_no_showing() -> None:
    """K3: Klasik only."""
    table = dealt(canak())
    table.arrange({0: f"{SECOND_COPY} K2"})
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)


def test_a_tie_break_knows_no_announcement_and_no_showing() -> None:
    """K6: any valid finish wins, nothing else counts."""
    table = tie_break(0, 1, starter=0)
    table.arrange({0: f"{SECOND_COPY} K2"})
    table.act_refused(c.ShowGosterge(), GostergeNotOpen)
    table.act_refused(c.AnnounceCift(), CiftNotOpen)
    table.act_refused(c.WithdrawCift(), CiftNotOpen)


def test_house_seats_show_too() -> None:
    """K9, K3: a seat given up plays on with its points, and takes and loses them."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[0]))
    table.arrange({0: f"{SECOND_COPY} K2"})
    assert kinds(table.act(c.ShowGosterge())) == ["GostergeShown", "PointsTaken"]
    assert table.points == (20, 19, 19, 19)


# Contending


@pytest.mark.parametrize(
    ("rules", "last"), [(DEFAULT_RULE_SET, (3,)), (RULE_SET_2026_11, (0, 1, 2, 3))]
)
def test_people_alone_contend_while_any_is_left(rules: RuleSet, last: tuple[int, ...]) -> None:
    """K9: before 2026.12 the house seats contended too with one person left."""
    table = dealt(klasik(4, rules=rules))
    assert contenders(table.state) == (0, 1, 2, 3)
    table.do(c.Forfeit(PLAYERS[0]))
    assert contenders(table.state) == (1, 2, 3)
    table.do(c.Forfeit(PLAYERS[1]))
    assert contenders(table.state) == (2, 3)
    table.do(c.Forfeit(PLAYERS[2]))
    assert contenders(table.state) == last


def test_in_a_tie_break_of_before_2026_12_the_same_held_among_its_seats() -> None:
    """K9, K6: of three, two people; of two, the one and the house seat."""
    table = tie_break(0, 1, 2, rules=RULE_SET_2026_11)
    table.do(c.Forfeit(PLAYERS[0]))
    assert contenders(table.state) == (1, 2)
    table.do(c.Forfeit(PLAYERS[1]))
    assert contenders(table.state) == (0, 1, 2)
