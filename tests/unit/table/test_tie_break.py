"""The tie-break of a Klasik match (K6), across the modules that play it."""

import pytest

from okey.rules.rule_set import RULE_SET_2026_11
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import NotContending, NothingToGiveUp
from okey.table.legal import LegalAction, legal_actions
from okey.table.reasons import Departure, OutcomeKind, RoundResult
from okey.table.state import Phase
from tests.factories import (
    CIFT,
    NORMAL,
    PILE,
    PLAYERS,
    Driver,
    dealt,
    kinds,
    klasik,
    the,
    tie_break,
)


def ended(table: Driver) -> e.MatchEnded:
    return the(table.events, e.MatchEnded)


def test_several_at_the_top_play_a_tie_break() -> None:
    """K6: those with the highest points, after the usual pause; no new stake is asked for."""
    table = dealt(klasik(4))
    table.set_points(7, 9, 1, 9)
    events = table.win(0)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "TieBreakStarted", "PauseStarted"]
    assert the(events, e.TieBreakStarted).contenders == (0, 1, 3)
    pot = table.match.money.pot
    events = table.next_round()
    assert kinds(events) == ["RoundDealt", "TurnStarted"]
    assert the(events, e.RoundDealt).playing == (0, 1, 3)
    assert table.match.money.pot == pot


@pytest.mark.parametrize("contenders", [(0, 1), (1, 3), (0, 1, 2), (0, 2, 3)])
def test_play_goes_round_the_contenders_only(contenders: tuple[int, ...]) -> None:
    """K6, U1: neighbours skip the others; one draws from the contender before."""
    table = tie_break(*contenders)
    order = []
    for _ in range(2 * len(contenders)):
        order.append(table.mover)
        table.pass_turn(PILE)
    assert sorted(order[: len(contenders)]) == list(contenders)
    assert order[: len(contenders)] == order[len(contenders) :]


@pytest.mark.parametrize("laid", ["R13", "R8"])
def test_any_valid_finish_wins_the_match(laid: str) -> None:
    """K6: no deductions."""
    table = tie_break(0, 1, 3)
    points = table.points
    events = table.win(3, CIFT, laid)
    assert kinds(events) == ["RoundEnded", "MatchEnded"]
    over = ended(table)
    assert (over.kind, over.winner, over.is_tie_break) == (OutcomeKind.KLASIK_WIN, 3, True)
    assert (over.contending, over.points) == ((0, 1, 3), points)
    assert over.finish is None


def test_a_drawn_tie_break_is_repeated() -> None:
    """K6, T8: with the next dealer among the contenders."""
    table = tie_break(1, 3)
    dealer = table.round.dealer
    assert kinds(table.draw_round())[-2:] == ["RoundEnded", "PauseStarted"]
    assert table.match.contenders == (1, 3)
    assert the(table.next_round(), e.RoundDealt).dealer == {1: 3, 3: 1}[dealer]


@pytest.mark.parametrize("contenders", [(0, 2), (0, 1, 3)])
def test_passing_tiles_for_ever_is_counted_by_who_plays(contenders: tuple[int, ...]) -> None:
    """U14, K6: 20 turns for each of the two or three who play, not for each seat of the table."""
    table = tie_break(*contenders)
    table.pass_turn()
    table.pass_turn()  # from the stock: the count begins here
    for turn in range(20 * len(contenders)):
        assert table.is_in(Phase.PLAYING), f"ended after {turn} turns"
        table.pass_turn(PILE)
    assert table.is_in(Phase.PAUSE)
    last = [each for each in table.events if isinstance(each, e.RoundEnded)][-1]
    assert last.result is RoundResult.NO_STOCK_DRAWS


def test_ten_drawn_tie_breaks_draw_the_match_among_its_contenders() -> None:
    """K10: tie-breaks count, and the round that was cut short or won before them does not."""
    table = tie_break(1, 3)
    for _ in range(9):
        table.draw_round()
        table.next_round()
    table.draw_round()
    assert (ended(table).kind, ended(table).contending) == (OutcomeKind.KLASIK_DRAW, (1, 3))
    assert not ended(table).is_tie_break


def test_those_out_of_it_are_done() -> None:
    """K6, M9: they give nothing up and pay nothing; their 90 s end without penalty."""
    table = dealt(klasik(4))
    table.away(2)
    table.set_points(7, 9, 1, 2)
    events = table.win(0)
    assert the(events, e.TieBreakStarted).contenders == (0, 1)
    assert table.seat(2).away_deadline_ms == 0
    assert not table.has_timer(c.TimerKind.AWAY)
    table.refused(c.Forfeit(PLAYERS[2]), NothingToGiveUp)
    table.do(c.LeaveSeat(PLAYERS[2]))
    table.next_round()
    table.refused(c.Forfeit(PLAYERS[3]), NothingToGiveUp)
    table.do(c.LeaveSeat(PLAYERS[3]))
    table.win(table.mover)
    assert ended(table).departures == (Departure.STAYED,) * 4
    assert ended(table).players == PLAYERS


def test_a_contenders_90_seconds_run_on_through_the_tie_break() -> None:
    """U8, K6: the pause before it does not end them."""
    table = dealt(klasik(4))
    table.away(1)
    deadline = table.seat(1).away_deadline_ms
    table.set_points(7, 9, 1, 2)
    table.win(0)
    table.next_round()
    assert table.seat(1).away_deadline_ms == deadline
    events = table.expire(c.TimerKind.AWAY, 1)
    assert the(events, e.SeatForfeited).player == PLAYERS[1]


def test_the_last_contender_wins_at_once() -> None:
    """K9, K6: who gives up contends no more, and nobody else is left to play against."""
    table = tie_break(0, 1, starter=0)
    events = table.do(c.Forfeit(PLAYERS[0]))
    assert kinds(events) == ["SeatForfeited", "RoundEnded", "MatchEnded"]
    assert the(events, e.RoundEnded).result is RoundResult.CUT_SHORT
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 1)
    assert (ended(table).is_tie_break, ended(table).contending) == (True, (0, 1))
    assert ended(table).departures == (Departure.FORFEITED, *(Departure.STAYED,) * 3)


def test_the_last_contender_wins_in_the_pause_before_the_tie_break_too() -> None:
    """K9, M9: giving up is possible in pauses, and no round is cut short then."""
    table = dealt(klasik(4))
    table.set_points(7, 9, 1, 2)
    table.win(0)
    events = table.do(c.Forfeit(PLAYERS[1]))
    assert kinds(events) == ["SeatForfeited", "MatchEnded"]
    assert ended(table).winner == 0


def test_the_ai_of_a_contender_who_gave_up_never_finishes() -> None:
    """K6: it plays on, draws and discards, but its finish would decide nothing."""
    table = tie_break(0, 1, 2, starter=0)
    table.do(c.Forfeit(PLAYERS[0]))
    table.arrange({0: f"{NORMAL} R13"})
    table.act_refused(c.Finish(Tile.R13), NotContending)
    assert LegalAction.FINISH not in legal_actions(table.state, 0)
    table.discard()
    table.do(c.Forfeit(PLAYERS[1]))
    assert ended(table).winner == 2


def test_house_seats_are_in_no_tie_break() -> None:
    """K9: one at the same height as a person is not."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[3]))
    table.set_points(7, 9, 1, 9)
    assert the(table.win(0), e.TieBreakStarted).contenders == (0, 1)
    table = dealt(klasik(4))
    for seat in (1, 2, 3):
        table.do(c.Forfeit(PLAYERS[seat]))
    table.set_points(7, 9, 1, 9)
    table.win(0)
    assert ended(table).winner == 0


# Tables of version 2026.11, where the house contended against the last person


def test_before_2026_12_the_ai_of_a_contender_contended_with_the_last_person() -> None:
    """K6, K9: of two, the AI could win."""
    table = tie_break(0, 1, starter=0, rules=RULE_SET_2026_11)
    table.do(c.Forfeit(PLAYERS[0]))
    assert table.is_in(Phase.PLAYING)
    table.arrange({0: f"{NORMAL} R13"})
    table.act(c.Finish(Tile.R13))
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 0)


def test_before_2026_12_a_tie_break_without_people_was_the_houses_match() -> None:
    """M8, K6: nobody who could still win was a person, though others still sat there."""
    table = tie_break(0, 1, rules=RULE_SET_2026_11)
    table.do(c.Forfeit(PLAYERS[1]))
    events = table.do(c.Forfeit(PLAYERS[0]))
    assert kinds(events) == ["SeatForfeited", "RoundEnded", "MatchEnded"]
    assert ended(table).kind is OutcomeKind.HOUSE_WIN


def test_before_2026_12_house_seats_tied_with_the_last_person() -> None:
    """K9: not while two people were left."""
    table = dealt(klasik(4, rules=RULE_SET_2026_11))
    for seat in (1, 2, 3):
        table.do(c.Forfeit(PLAYERS[seat]))
    table.set_points(7, 9, 1, 9)
    assert the(table.win(0), e.TieBreakStarted).contenders == (0, 1, 3)
