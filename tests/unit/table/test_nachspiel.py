"""After a match: settlement, the Nachspiel, the end of the table."""

from collections.abc import Callable

from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import NotDeciding, NotSeated, SeatTaken
from okey.table.reasons import CloseReason, VacateReason
from okey.table.state import Phase, SeatStatus
from tests.factories import (
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    kinds,
    nachspiel,
    of_kind,
    opened,
    paid,
    settling,
    solo,
    the,
)


def test_a_standing_kasa_leads_to_the_nachspiel() -> None:
    """Ç8, Ç9: after the settlement, 60 s to decide."""
    table = settling()
    events = table.settle()
    assert kinds(events) == ["SettlementConfirmed", "NachspielStarted"]
    assert table.timer(c.TimerKind.NACHSPIEL).deadline_ms == table.now_ms + 60_000
    assert {seat.status for seat in table.state.seats} == {SeatStatus.DECIDING}
    assert table.state.match is None


def test_a_normal_win_leads_to_the_nachspiel_and_an_okey_win_closes() -> None:
    """Ç3, Ç4, Ç8, Ç10: kasa paid out, table closed."""
    table = dealt()
    table.win(0)
    assert kinds(table.settle()) == ["SettlementConfirmed", "NachspielStarted"]
    table = dealt()
    table.win(0, laid="R8")
    events = table.settle()
    assert the(events, e.TableClosed).reason is CloseReason.KASA_WON
    assert table.is_in(Phase.CLOSED)


def test_settlements_answers_count_once_for_their_match() -> None:
    """M5: another match's, a second one, or one in another phase changes nothing."""
    table = settling()
    match_id = table.match.match_id
    table.ignored(c.ConfirmSettlement(f"{TABLE_ID}-9"))
    table.settle()
    table.ignored(c.ConfirmSettlement(match_id))
    table.play_on(0, 1)
    table.ignored(c.ConfirmSettlement(match_id))
    table.start()
    table.ignored(c.ConfirmSettlement(table.match.match_id))


def test_who_plays_on_pays_the_stake_again() -> None:
    """Ç8: under a new hold, for the next match."""
    table = nachspiel()
    asked = the(table.do(c.PlayOn(PLAYERS[1])), e.SeatRequested)
    assert (asked.seat, asked.player) == (1, PLAYERS[1])
    assert asked.hold_id.startswith(f"{TABLE_ID}-2-1-")
    table.do(c.ConfirmHold(asked.hold_id))
    assert table.seat(1).status is SeatStatus.PAID
    assert table.is_in(Phase.NACHSPIEL)


def test_the_next_match_starts_when_all_have_paid() -> None:
    """Ç9: without waiting for the 60 s; they are off then."""
    table = nachspiel()
    table.play_on(0, 1)
    assert table.is_in(Phase.COUNTDOWN)
    assert not table.has_timer(c.TimerKind.NACHSPIEL)
    started = the(table.start(), e.MatchStarted)
    assert (started.match_id, started.match_no, started.kasa) == (f"{TABLE_ID}-2", 2, 20)


def test_playing_on_is_said_once_and_only_then() -> None:
    """Ç9: not again, not by a newcomer, not at another time, not by a spectator."""
    table = nachspiel(canak(4))
    table.do(c.PlayOn(PLAYERS[0]))
    table.refused(c.PlayOn(PLAYERS[0]), NotDeciding)
    table.refused(c.PlayOn("x"), NotSeated)
    table.do(c.LeaveSeat(PLAYERS[3]))
    table.do(c.TakeSeat("x"))
    table.refused(c.PlayOn("x"), NotDeciding)
    builds: tuple[Callable[[], Driver], ...] = (opened, paid, dealt, settling)
    for build in builds:
        build().refused(c.PlayOn(PLAYERS[0]), NotDeciding)


def test_going_back_to_the_lobby_costs_nothing_and_frees_the_seat() -> None:
    """Ç8, Ç9: for newcomers, who pay and see the kasa."""
    table = nachspiel()
    left = the(table.do(c.LeaveSeat(PLAYERS[0])), e.SeatVacated)
    assert (left.hold_id, left.reason) == ("", VacateReason.LEFT)
    asked = the(table.do(c.TakeSeat("eda")), e.SeatRequested)
    assert asked.seat == 0
    table.play_on(1)
    table.pay(0)
    assert the(table.start(), e.MatchStarted).players == ("eda", PLAYERS[1])


def test_seats_of_people_who_decide_are_not_open() -> None:
    """Ç9: only free seats are."""
    table = nachspiel(canak(4))
    table.do(c.LeaveSeat(PLAYERS[2]))
    table.refused(c.TakeSeat("x", 1), SeatTaken)
    assert the(table.do(c.TakeSeat("x")), e.SeatRequested).seat == 2


def test_silence_is_back_to_the_lobby() -> None:
    """Ç9: who paid stays and the table waits for newcomers."""
    table = nachspiel(canak(4))
    table.play_on(0)
    table.do(c.PlayOn(PLAYERS[1]))
    events = table.expire(c.TimerKind.NACHSPIEL)
    assert kinds(events) == ["SeatVacated", "SeatVacated", "NachspielEnded"]
    assert [(each.seat, each.reason) for each in of_kind(events, e.SeatVacated)] == [
        (2, VacateReason.SILENT),
        (3, VacateReason.SILENT),
    ]
    assert [seat.status for seat in table.state.seats] == [
        SeatStatus.PAID,
        SeatStatus.REQUESTED,
        SeatStatus.FREE,
        SeatStatus.FREE,
    ]
    assert table.is_in(Phase.WAITING)
    assert table.timer(c.TimerKind.IDLE).deadline_ms == table.now_ms + 1_800_000


def test_the_kasa_waits_for_newcomers_too() -> None:
    """Ç8, Ç9: a seat filled after the 60 s plays for it."""
    table = nachspiel()
    table.play_on(0)
    table.expire(c.TimerKind.NACHSPIEL)
    table.do(c.TakeSeat("eda"))
    table.pay(1)
    assert the(table.start(), e.MatchStarted).kasa == 20


def test_too_few_chips_is_back_to_the_lobby_for_free() -> None:
    """Ç9, M2: the seat is free, the other decides on."""
    table = nachspiel()
    table.do(c.PlayOn(PLAYERS[0]))
    events = table.do(c.DeclineHold(table.seat(0).hold_id, "INSUFFICIENT_CHIPS"))
    assert kinds(events) == ["SeatDeclined"]
    assert table.is_in(Phase.NACHSPIEL)


def test_everybody_silent_closes_the_table() -> None:
    """Ç10: no people left."""
    table = nachspiel()
    events = table.expire(c.TimerKind.NACHSPIEL)
    assert kinds(events) == ["SeatVacated", "SeatVacated", "TableClosed"]
    assert the(events, e.TableClosed).reason is CloseReason.NO_PEOPLE


def test_the_last_one_leaving_closes_the_table() -> None:
    """Ç10: during the decision, and while the wallet settles."""
    table = nachspiel()
    table.do(c.LeaveSeat(PLAYERS[0]))
    assert "TableClosed" in kinds(table.do(c.LeaveSeat(PLAYERS[1])))


def test_a_waiting_table_with_a_kasa_closes_for_idling() -> None:
    """W1, Ç10: the stake comes back, the kasa is the house's by the close."""
    table = nachspiel()
    table.play_on(0)
    table.expire(c.TimerKind.NACHSPIEL)
    events = table.expire(c.TimerKind.IDLE)
    assert the(events, e.SeatVacated).hold_id != ""
    assert the(events, e.TableClosed).reason is CloseReason.IDLE
    assert table.state.kasa == 0


def test_solo_bots_always_play_on() -> None:
    """O1, Ç9: they are paid for at once; only the person decides."""
    table = dealt(solo(4))
    table.draw_round()
    table.settle()
    assert [seat.status for seat in table.state.seats] == [
        SeatStatus.DECIDING,
        *[SeatStatus.PAID] * 3,
    ]
    table.play_on(0)
    assert table.is_in(Phase.COUNTDOWN)


def test_leaving_in_the_count_down_after_the_nachspiel_opens_the_seat() -> None:
    """W2, Ç9: the table waits; who paid stays paid."""
    table = nachspiel()
    table.play_on(0, 1)
    events = table.do(c.LeaveSeat(PLAYERS[1]))
    assert kinds(events) == ["CountdownCancelled", "SeatVacated"]
    assert table.is_in(Phase.WAITING)
    table.do(c.TakeSeat("eda"))
    table.pay()
    assert table.is_in(Phase.COUNTDOWN)


def test_the_time_to_decide_ends_at_its_deadline() -> None:
    """Ç9, U12: at the deadline silence has counted, also before the clock has rung."""
    table = nachspiel()
    table.now_ms = table.timer(c.TimerKind.NACHSPIEL).deadline_ms - 1
    table.do(c.PlayOn(PLAYERS[0]))
    table.wait(1)
    table.refused(c.PlayOn(PLAYERS[1]), NotDeciding)
