"""How turns, rounds and matches end, in Çanak."""

import pytest

from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SET_2026_11
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.reasons import Departure, OutcomeKind, RoundResult
from okey.table.state import Phase
from tests.factories import (
    CIFT,
    NORMAL,
    PILE,
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    esli,
    kinds,
    nachspiel,
    solo,
    the,
)


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
        departures=(Departure.STAYED,) * 2,
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
    assert ended(table).departures == (Departure.FORFEITED, Departure.STAYED)


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
    for rules, kasa in ((DEFAULT_RULE_SET, 20 + 180), (RULE_SET_2026_11, 20)):
        table = dealt(esli(rules))
        table.do(c.Forfeit(PLAYERS[0]))
        table.do(c.Forfeit(PLAYERS[2]))
        table.win(0, laid="R8")
        assert ended(table).kasa == kasa


def test_a_given_up_seats_pot_goes_into_the_kasa_and_the_nachspiel_follows() -> None:
    """Ç11, Ç8: 2 x 50 chips; the last person goes on for a kasa of 100 instead of 10."""
    table = dealt(canak())
    table.do(c.Forfeit(PLAYERS[0]))
    table.win(0, laid="R8")
    assert (ended(table).kind, ended(table).kasa) == (OutcomeKind.CANAK_WIN, 10 + 90)
    table.settle()
    assert table.is_in(Phase.NACHSPIEL)


def test_one_finish_ends_an_esli_match() -> None:
    """O2: whichever partner finished, the match is won."""
    table = dealt(esli())
    table.win(3)
    assert (ended(table).kind, ended(table).winner) == (OutcomeKind.CANAK_WIN, 3)
