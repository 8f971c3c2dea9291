"""How turns, rounds and matches end, in Çanak and in Klasik before its tie-break."""

from dataclasses import replace

import pytest
from okey.rules.finish import FinishKind
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.reasons import CloseReason, OutcomeKind, RoundResult
from okey.table.state import Phase

from tests.factories import (
    CIFT,
    FAR,
    NORMAL,
    PILE,
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    esli,
    kinds,
    klasik,
    nachspiel,
    solo,
    the,
)

SECOND_COPY = FAR.replace("Y8", "R7")


def ended(table: Driver) -> e.MatchEnded:
    return the(table.events, e.MatchEnded)


# The stock runs out, or nobody draws from it


def test_an_empty_stock_draws_the_round() -> None:
    """U11, Ç7: after the last tile's plain discard; the next seat may not take it."""
    table = dealt()
    table.pass_turn()
    table.arrange(stock="R13")
    table.draw()
    assert table.round.stock == ()
    events = table.discard()
    assert kinds(events) == ["TileDiscarded", "RoundEnded", "MatchEnded"]
    over = the(events, e.RoundEnded)
    assert (over.result, over.seat, over.finish, over.laid) == (
        RoundResult.STOCK_EMPTY,
        -1,
        None,
        None,
    )
    assert ended(table).kind is OutcomeKind.CANAK_DRAW
    assert ended(table).winner == -1


def test_who_drew_the_last_tile_may_still_finish() -> None:
    """U11: that turn is played to its end."""
    table = dealt()
    table.pass_turn()
    table.arrange({1: NORMAL}, stock="R13")
    table.draw()
    table.act(c.Finish(Tile.R13))
    assert ended(table).kind is OutcomeKind.CANAK_WIN


def test_the_last_tile_may_stay_while_piles_are_drawn() -> None:
    """U11: the round ends when it is drawn, not when it is the last."""
    table = dealt()
    table.pass_turn()
    table.arrange(stock="R13")
    table.pass_turn(PILE)
    table.pass_turn(PILE)
    assert table.is_in(Phase.PLAYING)


def test_a_time_out_that_draws_the_last_tile_draws_the_round() -> None:
    """U11, U5: the neutral move is a plain discard."""
    table = dealt()
    table.pass_turn()
    table.arrange(stock="R13")
    assert kinds(table.time_out())[-2:] == ["RoundEnded", "MatchEnded"]


@pytest.mark.parametrize("seats", [2, 4])
def test_passing_tiles_for_ever_draws_the_round(seats: int) -> None:
    """U14: 20 turns a seat in a row without a draw from the stock."""
    table = dealt(canak(seats))
    table.pass_turn()
    table.pass_turn()  # from the stock: the count begins here
    for turn in range(20 * seats):
        assert table.is_in(Phase.PLAYING), f"ended after {turn} turns"
        table.pass_turn(PILE)
    assert the(table.events, e.RoundEnded).result is RoundResult.NO_STOCK_DRAWS
    assert ended(table).kind is OutcomeKind.CANAK_DRAW


def test_one_draw_from_the_stock_begins_the_count_anew() -> None:
    """U14: in a row means in a row."""
    table = dealt()
    table.pass_turn()
    for _ in range(38):
        table.pass_turn(PILE)
    table.pass_turn()
    for _ in range(39):
        table.pass_turn(PILE)
    assert table.is_in(Phase.PLAYING)
    table.pass_turn(PILE)
    assert the(table.events, e.RoundEnded).result is RoundResult.NO_STOCK_DRAWS


# Çanak


@pytest.mark.parametrize(
    ("hand", "laid", "announced", "finish", "kasa"),
    [
        (NORMAL, "R13", False, FinishKind.NORMAL, 10),
        (NORMAL, "R8", False, FinishKind.OKEY, 0),
        (CIFT, "R13", True, FinishKind.CIFT, 0),
        (CIFT, "R8", True, FinishKind.CIFT_OKEY, 0),
    ],
)
def test_what_a_canak_win_leaves_in_the_kasa(
    hand: str, laid: str, announced: bool, finish: FinishKind, kasa: int
) -> None:
    """Ç3, Ç4, Ç5, M4: the table says who and how; a normal win leaves the kasa."""
    table = dealt()
    if announced:
        table.act(c.AnnounceCift())
    table.win(0, hand, laid)
    assert ended(table) == e.MatchEnded(
        match_id=f"{TABLE_ID}-1",
        kind=OutcomeKind.CANAK_WIN,
        winner=0,
        finish=finish,
        contending=(),
        is_tie_break=False,
        players=PLAYERS[:2],
        gave_up=(False, False),
        points=(),
        kasa=kasa,
    )
    assert table.state.kasa == kasa
    assert table.is_in(Phase.SETTLING)


def test_the_winner_of_a_round_shows_fourteen_tiles_the_laid_one_apart() -> None:
    """H7, T9: everybody's tiles are public with the seed."""
    table = dealt()
    table.win(1)
    over = the(table.events, e.RoundEnded)
    assert len(over.racks[0]) == len(over.racks[1]) == 14
    assert (over.seat, over.laid) == (1, Tile.R13)
    assert table.state.sealed == over.sealed


def test_a_drawn_match_gives_the_given_up_part_to_the_kasa() -> None:
    """Ç7: 90 chips of pot in two parts; the given-up seat's and the tenth stay in the kasa."""
    table = dealt()
    table.do(c.Forfeit(PLAYERS[0]))
    table.draw_round()
    assert ended(table).kind is OutcomeKind.CANAK_DRAW
    assert ended(table).kasa == 10 + 45
    assert ended(table).gave_up == (True, False)


def test_a_drawn_match_leaves_the_tenth_and_the_remainder_in_the_kasa() -> None:
    """Ç7, Ç2: 4 x 55: 22 to the kasa, 198 in four parts of 49, 2 over."""
    table = dealt(canak(4, stake=55))
    table.draw_round()
    assert ended(table).kasa == 22 + 2


def test_the_kasa_grows_over_matches() -> None:
    """Ç8, Ç2: the second match is played for both tenths."""
    table = nachspiel()
    assert table.state.kasa == 10
    table.play_on(0, 1)
    assert the(table.start(), e.MatchStarted).kasa == 20
    table.win(table.mover, laid="R8")
    assert table.state.kasa == 0


def test_a_house_seat_wins_the_pot_and_never_the_kasa() -> None:
    """Ç11: even with an okey laid."""
    table = dealt(solo(), starter=1)
    table.win(1, laid="R8")
    assert (ended(table).winner, ended(table).kasa) == (1, 10)
    assert ended(table).finish is FinishKind.OKEY
    assert table.settle()[-1] == e.NachspielStarted(table.now_ms + 60_000, 0)


def test_a_house_partners_win_in_esli_takes_the_kasa_for_the_side() -> None:
    """M6, Ç11, O2: Ç11 holds only where the whole side is the house's."""
    table = dealt(esli())
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(0, laid="R8")
    assert ended(table).kasa == 0
    table = dealt(esli())
    table.do(c.Forfeit(PLAYERS[0]))
    table.do(c.Forfeit(PLAYERS[2]))
    table.win(0, laid="R8")
    assert ended(table).kasa == 20


def test_one_finish_ends_an_esli_match() -> None:
    """O2: whichever partner finished, the match is won."""
    table = dealt(esli())
    table.win(3)
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.CANAK_WIN, 3)


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
    """K10, K9: two people left: the house seats get no part; one left: they do."""
    table = dealt(klasik(4))
    table.do(c.Forfeit(PLAYERS[0]))
    table.do(c.Forfeit(PLAYERS[3]))
    draw_rounds(table, 10)
    assert ended(table).contending == (1, 2)
    table = dealt(klasik())
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
    assert ended(table).gave_up == (True, False, False, False)


def test_house_seats_do_not_win_while_two_people_are_left() -> None:
    """K9, K5: the highest of the people wins."""
    table = dealt(klasik(4))
    table.set_points(20, 3, 4, 2)
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(1)
    assert ended(table).winner == 1
    assert ended(table).points == (18, 3, 2, 0)


def test_a_house_seat_may_win_against_the_last_person() -> None:
    """K9: with one person left the house seats contend too."""
    table = dealt(klasik())
    table.set_points(9, 2)
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(0)
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.KLASIK_WIN, 0)


def test_a_tie_of_house_seats_at_the_top_is_the_houses_match() -> None:
    """M8, K6: no seat of the tie-break is a person's."""
    table = dealt(klasik(4))
    for seat in (0, 1, 2):
        table.do(c.Forfeit(PLAYERS[seat]))
    table.set_points(7, 9, 2, 2)
    events = table.win(0)
    assert kinds(events) == ["RoundEnded", "PointsTaken", "TieBreakStarted", "MatchEnded"]
    assert ended(table).kind is OutcomeKind.HOUSE_WIN
    assert ended(table).winner == -1


def test_the_table_closes_after_a_klasik_match() -> None:
    """K11, K7: no Nachspiel."""
    table = dealt(klasik())
    table.set_points(1, 1)
    table.win(0)
    events = table.settle()
    assert kinds(events) == ["SettlementConfirmed", "TableClosed"]
    assert the(events, e.TableClosed).reason is CloseReason.MATCH_OVER
