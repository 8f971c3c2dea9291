"""What happens when a clock runs out."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.errors import TimerStale
from okey.table.reasons import Departure, ForfeitReason
from okey.table.state import Phase, running_timers
from tests.factories import (
    PLAYERS,
    Driver,
    canak,
    dealt,
    kinds,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    settling,
    starting,
    the,
)


def test_the_second_time_out_seats_a_stand_in_for_90_seconds() -> None:
    """U7: the AI plays the turn that timed out, within its own short time."""
    table = dealt()
    table.time_out()
    table.pass_turn()
    events = table.time_out()
    now = table.now_ms
    assert events == (e.TurnTimedOut(0, 2), e.StandInSeated(0, now + 90_000, now + 10_000))
    assert table.mover == 0
    assert table.turn.drawn is None
    assert kinds(table.pass_turn()) == ["TileDiscarded", "TurnStarted"]


def test_a_stand_in_that_says_nothing_plays_neutrally() -> None:
    """U10, U7: and this is no time-out of its player."""
    table = dealt()
    table.away(0)
    assert kinds(table.time_out()) == ["TileDrawn", "TileDiscarded", "TurnStarted"]
    assert table.hand(0).timeouts == 2
    table.pass_turn()
    table.do(c.NeutralMove(0, table.turn.number))
    assert table.hand(0).timeouts == 2


def test_time_outs_are_each_seats_own() -> None:
    """U7: one each for two players seats nobody's stand-in."""
    table = dealt()
    table.time_out()
    table.time_out()
    assert [hand.timeouts for hand in table.round.hands] == [1, 1]
    assert [seat.away_deadline_ms for seat in table.state.seats] == [0, 0]


def test_time_outs_are_reset_at_the_deal() -> None:
    """U7: one at the end of a round and one in the next are two firsts."""
    table = dealt(klasik())
    table.time_out()
    table.draw_round()
    table.next_round()
    assert [hand.timeouts for hand in table.round.hands] == [0, 0]
    table.pass_until(0)
    assert "StandInSeated" not in kinds(table.time_out())


def test_back_in_the_next_round_the_first_time_out_is_neutral_again() -> None:
    """U7, U8: the stand-in stays over the deal, the count does not."""
    table = dealt(klasik())
    table.away(0)
    table.pass_turn()
    table.draw_round()
    table.next_round()
    assert table.seat(0).is_ai_played
    table.pass_until(0)
    table.do(c.ReturnToSeat(PLAYERS[0]))
    events = table.time_out()
    assert the(events, e.TurnTimedOut).count == 1
    assert "StandInSeated" not in kinds(events)


def test_the_90_seconds_run_on_through_the_pause() -> None:
    """U8, U9: they may end in it, and the seat is given up there."""
    table = dealt(klasik(4))
    table.away(0)
    deadline = table.timer(c.TimerKind.AWAY).deadline_ms
    table.pass_turn()
    table.draw_round()
    assert table.timer(c.TimerKind.AWAY).deadline_ms == deadline
    table.now_ms = deadline
    events = table.expire(c.TimerKind.AWAY)
    assert kinds(events) == ["SeatForfeited"]
    assert table.is_in(Phase.PAUSE)
    table.next_round()
    assert not table.has_timer(c.TimerKind.AWAY)


@pytest.mark.parametrize("config", [canak(), klasik()], ids=["canak", "klasik"])
def test_the_90_seconds_end_with_the_match_without_penalty(config: TableConfig) -> None:
    """U8: nothing is given up, whoever wins."""
    table = dealt(config)
    table.away(0)
    timer = table.timer(c.TimerKind.AWAY)
    if config.start_points:
        table.set_points(1, 9)
    table.win(1)
    assert table.is_in(Phase.SETTLING)
    assert running_timers(table.state) == ()
    table.now_ms = timer.deadline_ms
    table.refused(c.Expire(timer), TimerStale)
    assert the(table.events, e.MatchEnded).departures == (Departure.STAYED,) * 2


def test_after_90_seconds_the_seat_is_given_up_as_by_forfeit() -> None:
    """U9, M9: in the seat's own turn the AI goes on within the turn's time."""
    table = dealt(canak(4))
    table.away(0)
    timer = table.timer(c.TimerKind.AWAY)
    table.now_ms = timer.deadline_ms
    forfeited = the(table.do(c.Expire(timer)), e.SeatForfeited)
    assert (forfeited.player, forfeited.reason, forfeited.is_penalised) == (
        PLAYERS[0],
        ForfeitReason.ABANDONED,
        True,
    )
    assert table.seat(0).gave_up
    assert table.state.seat_of(PLAYERS[0]) == -1


def test_the_house_may_let_the_absent_go_unpenalised() -> None:
    """U9: the switch `abandonment_is_forfeit`; the seat is given up all the same."""
    rules = replace(DEFAULT_RULE_SET, abandonment_is_forfeit=False)
    table = dealt(canak(4, rules=rules))
    table.away(0)
    forfeited = the(table.expire(c.TimerKind.AWAY), e.SeatForfeited)
    assert not forfeited.is_penalised
    assert table.seat(0).departure is Departure.EXCUSED
    gave_up = the(table.do(c.Forfeit(PLAYERS[1])), e.SeatForfeited)
    assert gave_up.is_penalised
    assert table.seat(1).departure is Departure.FORFEITED


def test_the_first_move_of_a_game_may_time_out() -> None:
    """U6, U2: the table goes on."""
    table = dealt()
    table.time_out()
    assert table.mover == 1


# Stale clocks


def test_a_clock_rings_once_and_not_early() -> None:
    """U12: a clock that was set anew, stopped, or is not due does nothing."""
    table = dealt()
    timer = table.timer(c.TimerKind.TURN)
    table.now_ms = timer.deadline_ms - 1
    assert "due in 1 ms" in table.refused(c.Expire(timer), TimerStale)
    table.now_ms += 1
    table.do(c.Expire(timer))
    table.refused(c.Expire(timer), TimerStale)
    other_seat = c.Timer(c.TimerKind.TURN, table.turn.deadline_ms, 0)
    table.refused(c.Expire(other_seat), TimerStale)


@pytest.mark.parametrize("kind", list(c.TimerKind))
def test_a_clock_that_does_not_run_does_nothing(kind: c.TimerKind) -> None:
    """U12: in no phase."""
    builds: tuple[Callable[[], Driver], ...] = (
        opened,
        paid,
        starting,
        dealt,
        paused,
        settling,
        nachspiel,
    )
    for build in builds:
        build().refused(c.Expire(c.Timer(kind, 1, 0)), TimerStale)


@pytest.mark.parametrize(
    ("build", "running"),
    [
        (opened, [c.TimerKind.IDLE]),
        (paid, [c.TimerKind.COUNTDOWN]),
        (starting, []),
        (dealt, [c.TimerKind.TURN]),
        (paused, [c.TimerKind.ROUND_PAUSE]),
        (settling, []),
        (nachspiel, [c.TimerKind.NACHSPIEL]),
    ],
)
def test_which_clocks_run(build: Callable[[], Driver], running: list[c.TimerKind]) -> None:
    """U4, U13, W1, Ç9: one for each thing waited for; none while the wallet is asked."""
    assert [timer.kind for timer in running_timers(build().state)] == running
