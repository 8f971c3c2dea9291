"""Moves of AIs: for house seats, and for people whose seat a stand-in minds."""

from dataclasses import replace

import pytest

from okey.rules.finish import FinishKind
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import (
    MustDrawFirst,
    NotPlayedByAi,
    NotYourTurn,
    SeatMinded,
    StandInMayNot,
    TileNotInRack,
    TurnOver,
)
from tests.factories import (
    CIFT,
    NORMAL,
    PILE,
    PLAYERS,
    STOCK,
    Driver,
    canak,
    dealt,
    kinds,
    paused,
    solo,
    the,
)

NEAR = "Y1 Y2 Y3 B5 B6 B7 B8 R4 Y4 K4 K11 K12 K13 R9"
"""NORMAL with one tile exchanged: one away."""


def second_turn() -> Driver:
    """Seat 1 is to move in its first turn and has not drawn; seat 0 discarded K2."""
    table = dealt()
    table.discard(Tile.K2)
    return table


# Moves of AIs


def test_a_bot_moves_for_a_house_seat_and_finishes() -> None:
    """W4, Ç6: house seats do everything that people do."""
    table = dealt(solo(), starter=1)
    table.arrange({1: f"{CIFT} R13"})
    table.act(c.AnnounceCift())
    assert the(table.act(c.Finish(Tile.R13)), e.RoundEnded).finish is FinishKind.CIFT


def test_a_bot_never_moves_for_a_present_person() -> None:
    """U8, U10: neither a move nor a neutral one."""
    table = dealt()
    turn = table.turn.number
    table.refused(c.BotMove(0, turn, c.Discard(Tile.K2)), NotPlayedByAi)
    table.refused(c.NeutralMove(0, turn), NotPlayedByAi)


def test_a_bots_late_or_foreign_move_is_refused() -> None:
    """U10, U12: a slow bot's move never counts in a later turn, nor for another seat."""
    table = dealt(solo(), starter=1)
    turn = table.turn.number
    table.refused(c.BotMove(0, turn, c.Draw(STOCK)), NotYourTurn)
    table.do(c.NeutralMove(1, turn))
    table.refused(c.BotMove(1, turn, c.Draw(STOCK)), TurnOver)
    table.refused(c.NeutralMove(1, turn), TurnOver)
    table.refused(c.NeutralMove(1, table.turn.number), NotYourTurn)


def test_a_table_never_waits_for_a_bot() -> None:
    """U10: no answer in time: the neutral move, on request or by the seat's short clock."""
    table = dealt(solo(), starter=1)
    assert table.turn.deadline_ms == table.now_ms + 10_000
    drawn = table.turn.drawn
    assert table.do(c.NeutralMove(1, table.turn.number))[0] == e.TileDiscarded(
        1, drawn or Tile.S, is_neutral=True
    )
    table.pass_turn()
    events = table.time_out()
    assert kinds(events) == ["TileDrawn", "TileDiscarded", "TurnStarted"]
    assert table.hand(1).timeouts == 0


def test_a_house_seats_clock_is_never_longer_than_a_persons() -> None:
    """U10, U4: a table with short turns keeps them."""
    rules = replace(canak().rules, min_turn_timeout_ms=1_000, house_turn_ms=10_000)
    table = dealt(replace(solo(), rules=rules, turn_timeout_ms=5_000), starter=1)
    assert table.turn.deadline_ms == table.now_ms + 5_000


# Stand-ins


def minded(racks: dict[int, str] | None = None) -> Driver:
    """A stand-in minds seat 1 in its turn, before the draw."""
    table = second_turn()
    table.away(1)
    table.arrange(racks, stock="K2 K2 K2 K2")
    return table


def test_a_stand_in_draws_and_discards() -> None:
    """U7, U8: the AI plays the turn that timed out, from stock or pile."""
    for source in (STOCK, PILE):
        table = minded()
        table.draw(source)
        assert kinds(table.discard()) == ["TileDiscarded", "TurnStarted"]


@pytest.mark.parametrize(
    "action", [c.AnnounceCift(), c.WithdrawCift(), c.ShowGosterge(), c.Finish(Tile.K2)]
)
def test_a_stand_in_does_nothing_else(action: c.Action) -> None:
    """U8: it never announces, withdraws, shows or finishes, even with a finished hand."""
    table = minded({1: NORMAL})
    table.draw()
    table.act_refused(action, StandInMayNot)


def test_a_stand_in_keeps_the_hand_as_near_to_a_finish() -> None:
    """U8: a discard that takes the hand further away is refused; a useless tile may go."""
    table = minded({1: NEAR})
    table.draw()
    table.act_refused(c.Discard(Tile.K12), StandInMayNot)
    table.act(c.Discard(Tile.R9))


def test_a_stand_in_may_better_the_hand() -> None:
    """U8: a drawn tile that fits may stay."""
    table = minded({1: NEAR})
    table.arrange({1: NEAR}, stock="K1 K2 K2")
    table.draw()
    table.act(c.Discard(Tile.R9))
    assert Tile.K1 in table.hand(1).rack


def test_a_stand_in_plays_for_seven_pairs_once_they_are_announced() -> None:
    """U8, H12: only the distance to a hand that would be accepted counts."""
    table = second_turn()
    table.act(c.AnnounceCift())
    table.away(1)
    table.arrange({1: "R1 R2 R3 Y2 Y2 Y5 Y5 B8 B8 R11 R11 K3 K3 K9"}, stock="K2 K2 K2")
    table.draw()
    table.act_refused(c.Discard(Tile.Y2), StandInMayNot)
    table.act(c.Discard(Tile.R2))


def test_a_stand_in_forgets_melds_once_seven_pairs_are_announced() -> None:
    """U8, H12: though the hand is nearer to a normal finish, only its pairs count then."""
    near_normal = "Y1 Y2 Y3 Y3 Y4 Y5 B5 B6 B7 K11 K12 K13 R9 R9"
    table = second_turn()
    table.act(c.AnnounceCift())
    table.away(1)
    table.arrange({1: near_normal}, stock="K2 K2 K2")
    table.draw()
    message = table.act_refused(c.Discard(Tile.R9), StandInMayNot)
    assert "from 5 to 6" in message
    table.act(c.Discard(Tile.Y1))


def test_a_stand_in_without_an_announcement_keeps_the_nearer_form() -> None:
    """U8, H13: the same hand and discards, judged the other way round."""
    near_normal = "Y1 Y2 Y3 Y3 Y4 Y5 B5 B6 B7 K11 K12 K13 R9 R9"
    table = minded()
    table.arrange({1: near_normal}, stock="K2 K2 K2")
    table.draw()
    table.act_refused(c.Discard(Tile.Y1), StandInMayNot)
    table.act(c.Discard(Tile.R9))


def test_a_stand_ins_impossible_discards_are_refused_as_anybodys() -> None:
    """U8, U1: before the draw, or of a tile not held."""
    table = minded()
    table.act_refused(c.Discard(Tile.R1), MustDrawFirst)
    table.draw()
    table.act_refused(c.Discard(Tile.R13), TileNotInRack)


def test_the_player_of_a_minded_seat_comes_back_before_it_moves() -> None:
    """U8: the stand-in plays as long as nobody asks for the seat."""
    table = minded()
    move = c.PlayerMove(PLAYERS[1], table.turn.number, c.Draw(STOCK))
    table.refused(move, SeatMinded)
    table.do(c.ReturnToSeat(PLAYERS[1]))
    table.do(move)


def test_between_rounds_nobody_moves() -> None:
    """U12: there is no turn in a pause."""
    table = paused()
    table.refused(c.PlayerMove(PLAYERS[0], 1, c.Draw(STOCK)), TurnOver)
    table.refused(c.BotMove(0, 1, c.Draw(STOCK)), TurnOver)
    table.refused(c.NeutralMove(0, 1), TurnOver)
