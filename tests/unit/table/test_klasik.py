"""How rounds and matches of Klasik end, before a tie-break."""

from dataclasses import replace

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SET_2026_11, RuleSet
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import ClaimNotOpen, NoMatchRunning, NotSeated, ReturnTooLate
from okey.table.legal import LegalAction, legal_actions
from okey.table.reasons import CloseReason, Departure, OutcomeKind, RoundResult
from okey.table.state import Phase
from tests.factories import (
    CIFT,
    FAR,
    NORMAL,
    PILE,
    PLAYERS,
    Driver,
    canak,
    dealt,
    kinds,
    klasik,
    paid,
    the,
    tie_break,
)

SECOND_COPY = FAR.replace("Y8", "R7")


def ended(table: Driver) -> e.MatchEnded:
    return the(table.events, e.MatchEnded)


# Klasik


@pytest.mark.parametrize(
    ("hand", "laid", "announced", "each"),
    [
        (NORMAL, "R13", False, 2),
        (NORMAL, "R8", False, 4),
        (CIFT, "R13", True, 4),
        (CIFT, "R8", True, 8),
        (CIFT, "R13", False, 2),
        (CIFT, "R8", False, 4),
    ],
)
def test_what_a_klasik_winner_takes(hand: str, laid: str, announced: bool, each: int) -> None:
    """K2: normal 2, announced çift or okey win 4, both 8, from each opponent."""
    table = dealt(klasik(4))
    if announced:
        table.act(c.AnnounceCift())
    events = table.win(0, hand, laid)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "PauseStarted"]
    left = 20 - each
    assert the(events, e.PointsTaken) == e.PointsTaken(0, each, (20, left, left, left))


def test_the_next_round_follows_after_five_seconds() -> None:
    """U13, K1: a fresh deal with the points that stand."""
    table = dealt(klasik())
    table.win(0)
    assert table.timer(c.TimerKind.ROUND_PAUSE).deadline_ms == table.now_ms + 5_000
    events = table.next_round()
    assert kinds(events) == ["RoundDealt", "TurnStarted"]
    assert the(events, e.RoundDealt).round_no == 2
    assert table.points == (20, 18)


@pytest.mark.parametrize("left", [1, 2])
def test_the_match_is_over_when_anyone_is_at_0_or_below(left: int) -> None:
    """K4, K5: the highest remaining points win; K4 counts 0 and less."""
    table = dealt(klasik(4))
    table.set_points(5, left, 6, 9)
    events = table.win(0)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "MatchEnded"]
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 3)
    assert ended(table).points == (5, left - 2, 4, 7)
    assert not ended(table).is_tie_break
    assert (ended(table).contending, ended(table).kasa) == ((), 0)


def test_three_points_last_one_more_than_a_normal_win() -> None:
    """K4: 3 - 2 = 1 plays on."""
    table = dealt(klasik(points=3))
    table.win(0)
    assert table.is_in(Phase.PAUSE)


def test_a_shown_gosterge_ends_the_match_in_mid_round() -> None:
    """K4, K3, T9: at once; the round is cut short and its seed published."""
    table = dealt(klasik(4))
    table.set_points(5, 1, 6, 9)
    table.arrange({0: f"{SECOND_COPY} K2"})
    seed = table.round.seed
    events = table.act(c.ShowGosterge())
    assert kinds(events) == ["GostergeShown", "PointsTaken", "RoundEnded", "MatchEnded"]
    over = the(events, e.RoundEnded)
    assert (over.result, over.seat, over.revealed) == (RoundResult.CUT_SHORT, -1, seed)
    assert [len(tiles) for tiles in over.racks] == [15, 14, 14, 14]
    assert (ended(table).winner, ended(table).points) == (3, (5, 0, 5, 8))


def test_a_shown_gosterge_may_lead_to_a_tie_break() -> None:
    """K4, K6: the cut-short round is followed by the tie-break after the pause."""
    table = dealt(klasik(4))
    table.set_points(5, 1, 6, 3)
    table.arrange({0: f"{SECOND_COPY} K2"})
    events = table.act(c.ShowGosterge())
    assert kinds(events) == [
        "GostergeShown",
        "PointsTaken",
        "RoundEnded",
        "TieBreakStarted",
        "PauseStarted",
    ]
    assert the(events, e.TieBreakStarted).contenders == (0, 2)
    table.next_round()
    assert table.round.playing == (0, 2)


def test_a_drawn_round_takes_no_points_and_gosterge_points_stand() -> None:
    """K8: the next round follows."""
    table = dealt(klasik())
    table.arrange({0: f"{SECOND_COPY} K2"})
    table.act(c.ShowGosterge())
    events = table.draw_round()
    assert kinds(events)[-2:] == ["RoundEnded", "PauseStarted"]
    assert table.points == (20, 19)


def draw_rounds(table: Driver, count: int) -> None:
    for _ in range(count):
        table.draw_round()
        if table.is_in(Phase.PAUSE):
            table.next_round()


def test_ten_drawn_rounds_in_a_row_draw_the_match() -> None:
    """K10: nine do not; U14's draws count like the stock's."""
    table = dealt(klasik(4))
    draw_rounds(table, 9)
    assert table.is_in(Phase.PLAYING)
    limit = 20 * 4 - 1
    table.pass_turn()
    table.state = replace(table.state, round=replace(table.round, stockless_turns=limit))
    events = table.pass_turn(PILE)
    assert the(events, e.RoundEnded).result is RoundResult.NO_STOCK_DRAWS
    assert ended(table).kind is OutcomeKind.KLASIK_DRAW
    assert ended(table).contending == (0, 1, 2, 3)
    assert (ended(table).winner, ended(table).is_tie_break) == (-1, False)


def test_a_won_round_begins_the_count_of_drawn_ones_anew() -> None:
    """K10: in a row means in a row."""
    table = dealt(klasik())
    draw_rounds(table, 9)
    table.win(table.mover)
    table.next_round()
    draw_rounds(table, 9)
    assert table.is_in(Phase.PLAYING)
    draw_rounds(table, 1)
    assert ended(table).kind is OutcomeKind.KLASIK_DRAW


def test_a_drawn_match_is_shared_by_who_still_contends() -> None:
    """K10, K9: house seats get no part, before 2026.12 they did beside the last person."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[0]))
    table.do(c.Forfeit(PLAYERS[3]))
    draw_rounds(table, 10)
    assert ended(table).contending == (1, 2)
    table = dealt(klasik())
    table.do(c.Forfeit(PLAYERS[0]))
    draw_rounds(table, 10)
    assert ended(table).contending == (1,)
    table = dealt(klasik(rules=RULE_SET_2026_11))
    table.do(c.Forfeit(PLAYERS[0]))
    draw_rounds(table, 10)
    assert ended(table).contending == (0, 1)


def test_a_house_seat_keeps_its_points_and_plays_on() -> None:
    """K9, K4: its points run out like anybody's, and end the match."""
    table = dealt(klasik(4))
    table.set_points(2, 7, 6, 5)
    table.do(c.Forfeit(PLAYERS[0]))
    assert table.points == (2, 7, 6, 5)
    table.win(2)
    assert ended(table).winner == 2
    assert ended(table).departures == (Departure.FORFEITED, *(Departure.STAYED,) * 3)


def test_house_seats_do_not_win_while_two_people_are_left() -> None:
    """K9, K5: the highest of the people wins."""
    table = dealt(klasik(4))
    table.set_points(20, 3, 4, 2)
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(1)
    assert ended(table).winner == 1
    assert ended(table).points == (18, 3, 2, 0)


def test_a_house_seat_may_win_a_round_all_the_same() -> None:
    """K9, K2: it plays on like anybody, takes its points, and the match goes on."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[0]))
    table.arrange({0: f"{NORMAL} R13"})
    assert LegalAction.FINISH in legal_actions(table.state, 0)
    events = table.win(0)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "PauseStarted"]
    assert the(events, e.RoundEnded).seat == 0
    assert the(events, e.PointsTaken) == e.PointsTaken(0, 2, (20, 18, 18, 18))


@pytest.mark.parametrize(
    ("before", "winner"),
    [((5, 2, 9, 10), 3), ((5, 2, 10, 9), 2), ((8, 2, 11, 4), 2), ((9, 2, 10, 4), 0)],
)
def test_the_second_best_is_neither_crowned_nor_in_a_tie_break(
    before: tuple[int, ...], winner: int
) -> None:
    """K5: one point less than the most is not the most, wherever it sits."""
    table = dealt(klasik(4))
    table.set_points(*before)
    events = table.win(0)
    assert sorted(ended(table).points)[-2] == max(ended(table).points) - 1
    assert kinds(events) == ["RoundEnded", "PointsTaken", "MatchEnded"]
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, winner)


def test_a_house_seat_does_not_win_against_the_last_person() -> None:
    """K9: it can end the match, which the person wins, whatever the points."""
    table = dealt(klasik())
    table.set_points(9, 2)
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(0)
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 1)
    assert ended(table).points == (9, 0)


def test_before_2026_12_a_house_seat_could_win_against_the_last_person() -> None:
    """K9: with one person left the house seats contended too."""
    table = dealt(klasik(rules=RULE_SET_2026_11))
    table.set_points(9, 2)
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(0)
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 0)


def test_before_2026_12_a_tie_of_house_seats_at_the_top_was_the_houses_match() -> None:
    """M8, K6: no seat of the tie-break was a person's."""
    table = dealt(klasik(4, rules=RULE_SET_2026_11))
    for seat in (0, 1, 2):
        table.do(c.Forfeit(PLAYERS[seat]))
    table.set_points(7, 9, 2, 2)
    events = table.win(0)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "TieBreakStarted", "MatchEnded"]
    assert ended(table).kind is OutcomeKind.HOUSE_WIN


# The last person left


def left_alone(rules: RuleSet = DEFAULT_RULE_SET) -> Driver:
    """Seat 2 is the only person left of four."""
    table = dealt(klasik(4, rules=rules))
    table.set_points(20, 20, 3, 20)
    for seat in (0, 1, 3):
        table.do(c.Forfeit(PLAYERS[seat]))
    return table


def test_the_last_person_may_end_the_match_as_its_winner() -> None:
    """K9: in the middle of a round, out of turn, with the fewest points."""
    table = left_alone()
    assert table.mover != 2
    assert LegalAction.CLAIM_MATCH in legal_actions(table.state, 2)
    events = table.do(c.ClaimMatch(PLAYERS[2]))
    assert kinds(events) == ["MatchClaimed", "RoundEnded", "MatchEnded"]
    assert the(events, e.RoundEnded).result is RoundResult.CUT_SHORT
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 2)
    assert not ended(table).is_tie_break
    table.settle()
    assert table.state.is_done


def test_the_last_person_may_claim_between_rounds_and_while_a_stand_in_plays() -> None:
    """K9: at any moment, the seat is still theirs (U8)."""
    table = left_alone()
    table.draw_round()
    assert kinds(table.do(c.ClaimMatch(PLAYERS[2]))) == ["MatchClaimed", "MatchEnded"]
    table = left_alone()
    table.away(2)
    assert table.do(c.ClaimMatch(PLAYERS[2]))


def test_the_last_person_may_play_on() -> None:
    """K9, K4: nothing ends by itself; the match runs to its end."""
    table = left_alone()
    assert table.is_in(Phase.PLAYING)
    table.win(0)
    assert table.is_in(Phase.PAUSE)
    table.next_round()
    table.win(0)
    assert ended(table).winner == 2


def test_a_match_is_claimed_by_the_last_person_only() -> None:
    """K9: while others are people, in a tie-break, in Çanak and before a match it is refused."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[0]))
    assert "seats 1, 3" in table.refused(c.ClaimMatch(PLAYERS[2]), ClaimNotOpen)
    assert LegalAction.CLAIM_MATCH not in legal_actions(table.state, 2)
    table.refused(c.ClaimMatch(PLAYERS[0]), NotSeated)
    tie_break(0, 1).refused(c.ClaimMatch(PLAYERS[0]), ClaimNotOpen)
    paid(klasik()).refused(c.ClaimMatch(PLAYERS[0]), NoMatchRunning)
    table = dealt(canak())
    table.do(c.Forfeit(PLAYERS[0]))
    table.refused(c.ClaimMatch(PLAYERS[1]), ClaimNotOpen)


def test_a_claim_comes_too_late_once_the_time_to_come_back_is_over() -> None:
    """K9, U9: the clock that has run out counts, also before it has rung."""
    table = left_alone()
    table.away(2)
    table.now_ms = table.seat(2).away_deadline_ms
    table.refused(c.ClaimMatch(PLAYERS[2]), ReturnTooLate)


def test_before_2026_12_no_match_was_claimed() -> None:
    """K9: such a table is played to its end."""
    table = left_alone(RULE_SET_2026_11)
    table.refused(c.ClaimMatch(PLAYERS[2]), ClaimNotOpen)
    assert LegalAction.CLAIM_MATCH not in legal_actions(table.state, 2)


def test_the_table_closes_after_a_klasik_match() -> None:
    """K11, K7: no Nachspiel."""
    table = dealt(klasik())
    table.set_points(1, 1)
    table.win(0)
    events = table.settle()
    assert kinds(events) == ["SettlementConfirmed", "TableClosed"]
    assert the(events, e.TableClosed).reason is CloseReason.MATCH_OVER
