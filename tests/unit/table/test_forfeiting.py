"""Giving up, and coming back to a seat that a stand-in minds."""

from collections.abc import Callable

import pytest

from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import (
    NoMatchRunning,
    NotAway,
    NotPlayedByAi,
    NotSeated,
    ReturnTooLate,
    SeatsNotOpen,
    TimerStale,
    TurnExpired,
)
from okey.table.reasons import Departure, ForfeitReason, OutcomeKind, RoundResult
from okey.table.state import Phase, SeatStatus, seated_players
from tests.factories import (
    FAR,
    PLAYERS,
    STOCK,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    esli,
    kinds,
    klasik,
    nachspiel,
    of_kind,
    opened,
    paid,
    paused,
    rack,
    settling,
    solo,
    starting,
    the,
)

# Giving up


def test_giving_up_hands_the_seat_to_the_house() -> None:
    """M9, W4: an AI of level normal owns the seat, with its tiles; the player is free."""
    table = dealt(canak(4))
    forfeited = the(table.do(c.Forfeit(PLAYERS[1])), e.SeatForfeited)
    assert forfeited == e.SeatForfeited(
        f"{TABLE_ID}-1", 1, PLAYERS[1], ForfeitReason.GAVE_UP, True, 0
    )
    seat = table.seat(1)
    assert (seat.house, seat.player, seat.gave_up) == (BotLevel.NORMAL, "", True)
    assert table.hand(1).rack == rack(FAR)
    assert PLAYERS[1] not in seated_players(table.state)
    assert table.match.money.owner(1) is None


def test_who_gave_up_is_a_spectator_at_once() -> None:
    """M9: no move, no return, no second forfeit, and no seat while the match runs."""
    table = dealt(canak(4))
    table.do(c.Forfeit(PLAYERS[0]))
    gone = PLAYERS[0]
    table.refused(c.PlayerMove(gone, table.turn.number, c.Discard(Tile.K2)), NotSeated)
    for command in (c.ReturnToSeat(gone), c.Forfeit(gone), c.LeaveSeat(gone)):
        table.refused(command, NotSeated)
    table.refused(c.TakeSeat(gone), SeatsNotOpen)


def test_giving_up_out_of_turn_leaves_the_turn_alone() -> None:
    """M9, U4: the seat to move keeps its clock."""
    table = dealt()
    turn = table.turn
    table.do(c.Forfeit(PLAYERS[1]))
    assert table.turn == turn
    table.pass_turn()
    assert table.turn.deadline_ms == table.now_ms + 10_000


def test_giving_up_in_ones_own_turn_shortens_it_to_the_ais_time() -> None:
    """M9, U10: the AI goes on from where the player stopped."""
    table = dealt()
    table.pass_turn()
    table.draw()
    drawn = table.turn.drawn
    table.do(c.Forfeit(PLAYERS[1]))
    assert table.turn.deadline_ms == table.now_ms + 10_000
    assert table.turn.drawn is drawn
    assert kinds(table.discard()) == ["TileDiscarded", "TurnStarted"]


@pytest.mark.parametrize("left_ms", [1, 4_000])
def test_giving_up_never_lengthens_the_turn(left_ms: int) -> None:
    """U8, U4: coming back is the one case in which a turn may exceed its time."""
    table = dealt()
    deadline = table.turn.deadline_ms
    table.now_ms = deadline - left_ms
    table.do(c.Forfeit(PLAYERS[0]))
    assert table.turn.deadline_ms == deadline
    assert kinds(table.time_out()) == ["TileDiscarded", "TurnStarted"]


def test_giving_up_in_a_pause() -> None:
    """M9, K9: the next round is dealt to the house seat too."""
    table = paused(klasik(4))
    assert the(table.do(c.Forfeit(PLAYERS[2])), e.SeatForfeited).turn_deadline_ms == 0
    table.next_round()
    assert table.round.playing == (0, 1, 2, 3)
    table.pass_until(2)
    assert table.turn.deadline_ms == table.now_ms + 10_000


@pytest.mark.parametrize(
    "build", [opened, paid, starting, settling, nachspiel, lambda: settling(klasik())]
)
def test_without_a_running_match_there_is_nothing_to_give_up(build: Callable[[], Driver]) -> None:
    """M9, W2: before the start and after the end leaving is free."""
    build().refused(c.Forfeit(PLAYERS[0]), NoMatchRunning)


def test_a_spectator_gives_nothing_up() -> None:
    """M9: only the owner of a seat."""
    dealt().refused(c.Forfeit("x"), NotSeated)


def test_an_absent_player_may_give_up_too() -> None:
    """M9, U8: the 90 s end with the seat."""
    table = dealt(canak(4))
    table.away(1)
    timer = table.timer(c.TimerKind.AWAY)
    table.do(c.Forfeit(PLAYERS[1]))
    assert not table.has_timer(c.TimerKind.AWAY)
    table.now_ms = timer.deadline_ms
    table.refused(c.Expire(timer), TimerStale)


def test_given_up_seats_are_free_after_the_match() -> None:
    """Ç9, M9: and whoever gave up may sit down again then."""
    table = dealt(canak(4))
    table.do(c.Forfeit(PLAYERS[1]))
    table.draw_round()
    table.settle()
    assert table.seat(1).status is SeatStatus.FREE
    table.do(c.TakeSeat(PLAYERS[1], 1))
    assert not table.seat(1).gave_up


# Nobody can win any more


@pytest.mark.parametrize("build", [dealt, lambda: dealt(canak(4)), lambda: dealt(esli())])
def test_the_last_person_giving_up_ends_a_canak_match(build: Callable[[], Driver]) -> None:
    """M8, Ç10: the round is cut short, the bot bank has the pot, and no people keep the table."""
    table = build()
    seats = len(table.state.seats)
    for seat in range(seats - 1):
        table.do(c.Forfeit(PLAYERS[seat]))
        assert table.is_in(Phase.PLAYING)
    seed = table.round.seed
    events = table.do(c.Forfeit(PLAYERS[seats - 1]))
    assert kinds(events) == ["SeatForfeited", "RoundEnded", "MatchEnded"]
    over = the(events, e.RoundEnded)
    assert (over.result, over.revealed) == (RoundResult.CUT_SHORT, seed)
    match = the(events, e.MatchEnded)
    assert (match.kind, match.winner, match.departures) == (
        OutcomeKind.HOUSE_WIN,
        -1,
        (Departure.FORFEITED,) * seats,
    )
    assert match.kasa == table.match.money.kasa_share
    assert kinds(table.settle()) == ["SettlementConfirmed", "TableClosed"]


def test_a_solo_player_giving_up_ends_the_match() -> None:
    """M8, O1: only bots are left."""
    table = dealt(solo(4))
    assert "MatchEnded" in kinds(table.do(c.Forfeit(PLAYERS[0])))
    table.settle()
    assert table.is_in(Phase.CLOSED)


def test_the_last_person_giving_up_in_a_pause_ends_a_klasik_match() -> None:
    """M8, M9: no round is running, none is cut short."""
    table = paused()
    table.do(c.Forfeit(PLAYERS[0]))
    assert kinds(table.do(c.Forfeit(PLAYERS[1]))) == ["SeatForfeited", "MatchEnded"]
    assert the(table.events, e.MatchEnded).kind is OutcomeKind.HOUSE_WIN
    assert kinds(table.settle()) == ["SettlementConfirmed", "TableClosed"]


def test_a_minded_seat_is_its_owners_and_can_win() -> None:
    """M8, U8: the match goes on while a stand-in plays for the last person."""
    table = dealt()
    table.away(1)
    table.do(c.Forfeit(PLAYERS[0]))
    assert table.is_in(Phase.PLAYING)
    events = table.expire(c.TimerKind.AWAY, 1)
    assert kinds(events) == ["SeatForfeited", "RoundEnded", "MatchEnded"]


def test_one_partner_left_plays_on_in_esli() -> None:
    """M8, M6, O2: the side of the one person can still win."""
    table = dealt(esli())
    for seat in (0, 1, 3):
        table.do(c.Forfeit(PLAYERS[seat]))
    assert table.is_in(Phase.PLAYING)
    table.win(0)
    assert the(table.events, e.MatchEnded).kind is OutcomeKind.CANAK_WIN


# Coming back


def test_coming_back_in_mid_turn_gives_at_least_ten_seconds() -> None:
    """U8: the stand-in had little left of the turn that timed out."""
    table = dealt()
    table.away(0)
    table.wait(7_000)
    (back,) = table.do(c.ReturnToSeat(PLAYERS[0]))
    assert back == e.PlayerReturned(0, table.now_ms + 10_000)
    assert table.turn.deadline_ms == table.now_ms + 10_000
    assert not table.has_timer(c.TimerKind.AWAY)


def test_coming_back_in_mid_turn_keeps_what_is_left_of_a_longer_clock() -> None:
    """U8, U4: a later turn of the stand-in has the turn's full clock, for its player to have."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    table.pass_turn()
    deadline = table.turn.deadline_ms
    assert deadline == table.now_ms + 60_000
    table.wait(20_000)
    table.draw()
    table.do(c.ReturnToSeat(PLAYERS[0]))
    assert table.turn.deadline_ms == deadline
    table.act(c.Discard(Tile.R1))


def test_coming_back_out_of_turn_touches_no_clock() -> None:
    """U8: nobody else's turn changes."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    turn = table.turn
    assert table.do(c.ReturnToSeat(PLAYERS[0])) == (e.PlayerReturned(0, 0),)
    assert table.turn == turn


def test_coming_back_in_a_pause() -> None:
    """U8: the 90 s run through pauses, and so may the return."""
    table = dealt(klasik())
    table.away(0)
    table.pass_turn()
    table.draw_round()
    assert table.do(c.ReturnToSeat(PLAYERS[0])) == (e.PlayerReturned(0, 0),)
    table.next_round()
    table.pass_until(0)
    assert table.move(c.Draw(STOCK)) == c.PlayerMove(PLAYERS[0], table.turn.number, c.Draw(STOCK))
    assert not table.seat(0).is_ai_played


def test_who_is_back_is_not_counted_out_by_the_old_clock() -> None:
    """U8, U12: the clock of the 90 s is off."""
    table = dealt()
    table.away(0)
    timer = table.timer(c.TimerKind.AWAY)
    table.do(c.ReturnToSeat(PLAYERS[0]))
    table.now_ms = timer.deadline_ms
    table.refused(c.Expire(timer), TimerStale)


def test_every_further_time_out_hands_the_seat_over_again() -> None:
    """U7, U8: time-outs are not reset by coming back; each gives new 90 s."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    table.do(c.ReturnToSeat(PLAYERS[0]))
    table.pass_turn()
    events = table.time_out()
    assert kinds(events) == ["TurnTimedOut", "StandInSeated"]
    assert the(events, e.TurnTimedOut).count == 3
    assert table.timer(c.TimerKind.AWAY).deadline_ms == table.now_ms + 90_000


def test_coming_back_and_falling_silent_does_not_hold_up_a_turn_for_ever() -> None:
    """U7, U8, U10: a turn that times out again is over: the seat is handed over, and the neutral
    move is made at once.
    """
    table = dealt()
    table.away(0)
    start = table.now_ms
    table.wait(9_999)
    table.do(c.ReturnToSeat(PLAYERS[0]))
    events = table.time_out()
    assert kinds(events) == [
        "TurnTimedOut",
        "StandInSeated",
        "TileDrawn",
        "TileDiscarded",
        "TurnStarted",
    ]
    assert table.mover == 1
    assert table.now_ms == start + 19_999
    assert table.timer(c.TimerKind.AWAY).deadline_ms == table.now_ms + 90_000


def test_only_who_is_away_comes_back() -> None:
    """U8: not a present player, not a spectator, not after the match."""
    table = dealt()
    table.refused(c.ReturnToSeat(PLAYERS[0]), NotAway)
    table.refused(c.ReturnToSeat("x"), NotSeated)
    table.away(0)
    table.draw_round()
    table.refused(c.ReturnToSeat(PLAYERS[0]), NotAway)


def test_a_move_after_coming_back_is_ones_own() -> None:
    """U8: the stand-in's late move is refused, the player's counts, finishing included."""
    table = dealt()
    table.away(0)
    late = table.move(c.Draw(STOCK))
    table.do(c.ReturnToSeat(PLAYERS[0]))
    table.refused(late, NotPlayedByAi)
    table.act(c.AnnounceCift())
    table.pass_turn()
    assert of_kind(table.events, e.TileDiscarded)[-1].seat == 0


def test_the_time_to_come_back_ends_at_its_deadline() -> None:
    """U9, U12: a clock that has run out counts, also before it has rung."""
    table = dealt(canak(4))
    seat = table.mover
    table.away(seat)
    table.pass_turn()
    table.now_ms = table.seat(seat).away_deadline_ms
    table.refused(c.ReturnToSeat(PLAYERS[seat]), ReturnTooLate)
    assert the(table.expire(c.TimerKind.AWAY), e.SeatForfeited).seat == seat


def test_a_turn_that_has_run_out_is_not_brought_back() -> None:
    """U8, U12: the stand-in's turn counts by its deadline; one comes back in the next."""
    table = dealt(canak(4))
    seat = table.mover
    table.away(seat)
    table.now_ms = table.turn.deadline_ms
    table.refused(c.ReturnToSeat(PLAYERS[seat]), TurnExpired)
    table.time_out()
    table.do(c.ReturnToSeat(PLAYERS[seat]))
    assert not table.seat(seat).away_deadline_ms
