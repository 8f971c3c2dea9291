"""Opening, sitting down, paying, leaving before a match, nonces, filling, idling."""

from collections.abc import Callable

import pytest

from okey.rules.variant import BotLevel, Variant
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import InvalidTableConfig, TableConfig
from okey.table.errors import (
    AlreadySeated,
    LeftBeforeStart,
    MatchRunning,
    NoFreeSeat,
    NoSuchSeat,
    NotSeated,
    SeatsNotOpen,
    SeatTaken,
)
from okey.table.reasons import CloseReason, VacateReason
from okey.table.state import Phase, SeatStatus, seated_players
from tests.factories import (
    PLAYERS,
    START_MS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    esli,
    kinds,
    nachspiel,
    of_kind,
    opened,
    paid,
    paused,
    seated,
    settling,
    solo,
    starting,
    the,
    tie_break,
)

IDLE_MS = 1_800_000


def test_the_maker_takes_seat_0_and_the_table_waits() -> None:
    """W1: who makes a table asks for seat 0; the others are free."""
    table = opened(canak(4))
    assert kinds(table.events) == ["TableOpened", "SeatRequested"]
    assert the(table.events, e.TableOpened).idle_deadline_ms == START_MS + IDLE_MS
    assert the(table.events, e.SeatRequested).hold_id == f"{TABLE_ID}-1-0-1"
    assert [seat.status for seat in table.state.seats] == [
        SeatStatus.REQUESTED,
        *[SeatStatus.FREE] * 3,
    ]
    assert table.is_in(Phase.WAITING)


def test_the_maker_has_no_right_over_the_table() -> None:
    """W1: the table goes on without its maker."""
    table = seated()
    table.do(c.LeaveSeat(PLAYERS[0]))
    assert table.is_in(Phase.WAITING)
    table.do(c.TakeSeat("eda", 0))
    table.pay()
    assert table.is_in(Phase.COUNTDOWN)


def test_a_table_is_canak_unless_said() -> None:
    """Ç0, Ç1: the default variant is Çanak and the default stake is 50."""
    config = TableConfig(TABLE_ID)
    assert (config.variant, config.stake) == (Variant.CANAK, 50)
    assert opened(config).state.config.variant is Variant.CANAK


def test_a_wrong_config_opens_nothing() -> None:
    """Ç1: a stake out of range opens no table."""
    with pytest.raises(InvalidTableConfig, match="stake is 49; it lies between 50"):
        opened(canak(stake=49))


def test_a_solo_table_starts_at_once() -> None:
    """O1, W4: bots of the chosen level sit on the other seats and need no payment."""
    table = opened(solo(4, BotLevel.STRONG))
    assert [
        (each.seat, each.level, each.is_fill) for each in of_kind(table.events, e.HouseSeated)
    ] == [(seat, BotLevel.STRONG, False) for seat in (1, 2, 3)]
    table.pay(0)
    assert table.is_in(Phase.COUNTDOWN)
    table.start()
    assert table.match.players == (PLAYERS[0], "", "", "")


def test_the_first_free_seat_or_the_one_asked_for() -> None:
    """W1: joining takes the first free seat unless one is named."""
    table = opened(canak(4))
    assert the(table.do(c.TakeSeat("x", 2)), e.SeatRequested).seat == 2
    assert the(table.do(c.TakeSeat("y")), e.SeatRequested).seat == 1


def test_seats_that_cannot_be_taken() -> None:
    """W1: a taken seat, a seat that is not there, a full table, a second seat for one player."""
    table = opened(canak(4))
    assert "free: 1, 2, 3" in table.refused(c.TakeSeat("x", 0), SeatTaken)
    for seat in (-2, 4):
        table.refused(c.TakeSeat("x", seat), NoSuchSeat)
    table.refused(c.TakeSeat(PLAYERS[0]), AlreadySeated)
    full = seated(canak(2))
    full.refused(c.TakeSeat("x"), NoFreeSeat)
    full.refused(c.TakeSeat("x", 1), NoFreeSeat)
    opened(solo()).refused(c.TakeSeat("x"), NoFreeSeat)


@pytest.mark.parametrize("build", [paid, starting, dealt, settling])
def test_nobody_sits_down_once_every_seat_is_paid(build: Callable[[], Driver]) -> None:
    """W1, Ç9: seats are open while the table waits and in the Nachspiel."""
    build().refused(c.TakeSeat("x"), SeatsNotOpen)


def test_a_match_starts_only_when_every_stake_is_held() -> None:
    """M2, W1: taken but unpaid seats start no count-down."""
    table = seated(canak(4))
    table.pay(0, 1, 3)
    assert table.is_in(Phase.WAITING)
    table.pay(2)
    assert table.is_in(Phase.COUNTDOWN)
    assert the(table.events, e.CountdownStarted).deadline_ms == START_MS + 3_000


def test_a_declined_stake_frees_the_seat_and_nobody_elses() -> None:
    """M2: one who cannot pay holds up nobody else's chips."""
    table = seated(canak(4))
    table.pay(0, 1)
    declined = the(
        table.do(c.DeclineHold(table.seat(2).hold_id, "INSUFFICIENT_CHIPS")), e.SeatDeclined
    )
    assert (declined.seat, declined.player) == (2, PLAYERS[2])
    assert table.seat(2).status is SeatStatus.FREE
    assert table.seat(0).status is SeatStatus.PAID


def test_a_declined_maker_alone_closes_the_table() -> None:
    """Ç10: nobody is left."""
    table = opened()
    events = table.do(c.DeclineHold(table.seat(0).hold_id, "INSUFFICIENT_CHIPS"))
    assert the(events, e.TableClosed).reason is CloseReason.NO_PEOPLE


def test_late_hold_answers_change_nothing() -> None:
    """M5: an answer counts once, and not for a seat that was left meanwhile, nor after the end."""
    table = seated()
    hold = table.seat(1).hold_id
    table.do(c.LeaveSeat(PLAYERS[1]))
    table.ignored(c.ConfirmHold(hold))
    table.ignored(c.DeclineHold(hold, "X"))
    table.do(c.TakeSeat("eda"))
    table.ignored(c.ConfirmHold(hold))
    assert table.seat(1).status is SeatStatus.REQUESTED
    table.pay()
    table.ignored(c.ConfirmHold(table.seat(0).hold_id))
    table.ignored(c.DeclineHold(table.seat(0).hold_id, "X"))
    table.start()
    table.ignored(c.ConfirmHold(""))
    table.ignored(c.DeclineHold("", "X"))


def test_hold_ids_are_never_used_twice() -> None:
    """M5, M1: each try has its own key, so a voided hold is never taken for the next one."""
    table = opened()
    for _ in range(3):
        table.do(c.TakeSeat("x"))
        table.do(c.LeaveSeat("x"))
    holds = [each.hold_id for each in of_kind(table.events, e.SeatRequested)]
    assert len(set(holds)) == 4


# Leaving


def test_leaving_before_the_start_is_free_and_cancels_the_count_down() -> None:
    """W2, M1: the hold is voided; the others stay paid, and the next player starts it anew."""
    table = paid()
    hold = table.seat(1).hold_id
    events = table.do(c.LeaveSeat(PLAYERS[1]))
    assert kinds(events) == ["CountdownCancelled", "SeatVacated"]
    assert the(events, e.SeatVacated).hold_id == hold
    assert the(events, e.SeatVacated).reason is VacateReason.LEFT_LATE
    assert table.is_in(Phase.WAITING)
    assert not table.has_timer(c.TimerKind.COUNTDOWN)
    assert table.seat(0).status is SeatStatus.PAID
    table.wait(1_000)
    table.do(c.TakeSeat("eda"))
    table.pay()
    assert table.timer(c.TimerKind.COUNTDOWN).deadline_ms == START_MS + 4_000


@pytest.mark.parametrize("answer", ["count-down", "committed", "declined"])
def test_who_leaves_late_gets_no_seat_before_the_next_deal(answer: str) -> None:
    """W2: joining and leaving for ever does not keep a table from starting."""
    table = paid() if answer == "count-down" else starting()
    table.do(c.LeaveSeat(PLAYERS[1]))
    if answer == "committed":
        table.do(c.ConfirmStart(table.state.match_id))
    if answer == "declined":
        table.do(c.DeclineStart(table.state.match_id, (table.seat(1).hold_id,)))
        table.refused(c.TakeSeat(PLAYERS[0]), AlreadySeated)
        return  # the wallet found the hold void: nobody left late
    table.refused(c.TakeSeat(PLAYERS[1]), LeftBeforeStart)
    table.do(c.TakeSeat("eda"))
    table.pay()
    table.start()
    assert table.is_in(Phase.PLAYING)
    assert table.state.left_late == ()


def test_leaving_while_the_table_waits_closes_no_door() -> None:
    """W1: who left a waiting table may come back."""
    table = seated(canak(4))
    table.do(c.LeaveSeat(PLAYERS[1]))
    table.do(c.TakeSeat(PLAYERS[1]))
    assert table.player(1) == PLAYERS[1]


def test_leaving_an_unanswered_stake_voids_its_hold_too() -> None:
    """M1: a hold that may yet come through is voided all the same."""
    table = seated()
    assert the(table.do(c.LeaveSeat(PLAYERS[1])), e.SeatVacated).hold_id == f"{TABLE_ID}-1-1-2"


def test_the_last_one_closes_the_table() -> None:
    """Ç10: no people left."""
    table = seated()
    table.do(c.LeaveSeat(PLAYERS[0]))
    events = table.do(c.LeaveSeat(PLAYERS[1]))
    assert kinds(events) == ["SeatVacated", "TableClosed"]
    assert seated_players(table.state) == frozenset()


@pytest.mark.parametrize("build", [dealt, paused])
def test_a_running_match_is_not_left_for_free(build: Callable[[], Driver]) -> None:
    """W2, M9: after the start leaving is giving up, and says what it costs."""
    message = build().refused(c.LeaveSeat(PLAYERS[0]), MatchRunning)
    assert "25 chips" in message


def test_only_the_contenders_stay_bound_in_a_tie_break() -> None:
    """K6, W3: who is out leaves freely in mid-round; a contender does not."""
    table = tie_break(0, 2)
    table.refused(c.LeaveSeat(PLAYERS[2]), MatchRunning)
    events = table.do(c.LeaveSeat(PLAYERS[1]))
    assert kinds(events) == ["SeatVacated"]
    assert the(events, e.SeatVacated).hold_id == ""
    assert seated_players(table.state) == {PLAYERS[0], PLAYERS[2], PLAYERS[3]}
    table.refused(c.TakeSeat("x", 1), SeatsNotOpen)


def test_a_spectator_leaves_nothing() -> None:
    """W2: who has no seat has nothing to leave."""
    opened().refused(c.LeaveSeat("x"), NotSeated)
    opened().refused(c.LeaveSeat(""), NotSeated)


def test_leaving_after_the_match_is_free_at_once() -> None:
    """Ç8, M1: while the result is with the wallet one may go, the table settles all the same."""
    table = settling()
    events = table.do(c.LeaveSeat(PLAYERS[0]))
    assert kinds(events) == ["SeatVacated"]
    table.do(c.LeaveSeat(PLAYERS[1]))
    assert table.is_in(Phase.SETTLING)
    assert kinds(table.settle()) == ["SettlementConfirmed", "TableClosed"]


# Idling


def test_an_idle_table_closes_with_refunds() -> None:
    """W1: 30 min without anybody joining or leaving: every hold is voided, the table closes."""
    table = opened(canak(4))
    table.wait(1_000)
    table.do(c.TakeSeat("x"))
    table.pay()
    assert table.timer(c.TimerKind.IDLE).deadline_ms == table.now_ms + IDLE_MS
    events = table.expire(c.TimerKind.IDLE)
    assert kinds(events) == ["SeatVacated", "SeatVacated", "TableClosed"]
    assert all(each.hold_id for each in of_kind(events, e.SeatVacated))
    assert {each.reason for each in of_kind(events, e.SeatVacated)} == {VacateReason.IDLE}
    assert the(events, e.TableClosed).reason is CloseReason.IDLE


def test_joining_and_leaving_start_the_idle_clock_anew() -> None:
    """W1: paying does not."""
    table = opened(canak(4))
    table.wait(5)
    table.pay()
    assert table.timer(c.TimerKind.IDLE).deadline_ms == START_MS + IDLE_MS
    for command in (c.TakeSeat("x"), c.LeaveSeat("x"), c.TakeSeat("y")):
        table.wait(5)
        table.do(command)
        assert table.timer(c.TimerKind.IDLE).deadline_ms == table.now_ms + IDLE_MS
    table.wait(5)
    table.do(c.DeclineHold(table.seat(1).hold_id, "X"))
    assert table.timer(c.TimerKind.IDLE).deadline_ms == table.now_ms + IDLE_MS


def test_a_waiting_table_always_has_a_clock() -> None:
    """W1: after a declined start the idle clock runs from then on, however long the wallet took."""
    table = starting()
    table.wait(2 * IDLE_MS)
    table.do(c.DeclineStart(table.state.match_id, (table.seat(0).hold_id,)))
    assert table.timer(c.TimerKind.IDLE).deadline_ms == table.now_ms + IDLE_MS


# House seats


def test_the_house_fills_what_is_free_after_the_wait() -> None:
    """W5: seats still free get normal bots for one match; the match starts with them."""
    table = opened(canak(4, house_fill_after_ms=30_000))
    table.do(c.TakeSeat(PLAYERS[1]))
    table.pay()
    assert table.timer(c.TimerKind.HOUSE_FILL).deadline_ms == START_MS + 30_000
    events = table.expire(c.TimerKind.HOUSE_FILL)
    assert kinds(events) == ["HouseSeated", "HouseSeated", "CountdownStarted"]
    assert all(each.is_fill for each in of_kind(events, e.HouseSeated))
    assert {each.level for each in of_kind(events, e.HouseSeated)} == {BotLevel.NORMAL}
    started = the(table.start(), e.MatchStarted)
    assert started.players == (PLAYERS[0], PLAYERS[1], "", "")
    assert not table.has_timer(c.TimerKind.HOUSE_FILL)


def test_no_table_is_filled_unless_it_allows_it() -> None:
    """W5: off by default."""
    assert not opened(canak(4)).has_timer(c.TimerKind.HOUSE_FILL)
    assert not nachspiel().has_timer(c.TimerKind.HOUSE_FILL)


def test_filled_seats_are_free_again_after_the_match() -> None:
    """W5, Ç9: the bots stay for one match; in the Nachspiel the wait begins anew."""
    table = opened(canak(4, house_fill_after_ms=30_000))
    table.pay()
    table.expire(c.TimerKind.HOUSE_FILL)
    table.start()
    table.draw_round()
    table.settle()
    assert [seat.status for seat in table.state.seats] == [
        SeatStatus.DECIDING,
        *[SeatStatus.FREE] * 3,
    ]
    table.play_on(0)
    assert table.timer(c.TimerKind.HOUSE_FILL).deadline_ms == table.now_ms + 30_000
    table.expire(c.TimerKind.HOUSE_FILL)
    assert table.is_in(Phase.COUNTDOWN)


def test_a_filled_table_waits_for_the_stakes_without_ringing_again() -> None:
    """W5: once no seat is free the fill clock is off; it would ring for ever to no effect."""
    table = opened(canak(2, house_fill_after_ms=30_000))
    assert kinds(table.expire(c.TimerKind.HOUSE_FILL)) == ["HouseSeated"]
    assert table.is_in(Phase.WAITING)
    assert not table.has_timer(c.TimerKind.HOUSE_FILL)
    full = seated(canak(2, house_fill_after_ms=30_000))
    assert not full.has_timer(c.TimerKind.HOUSE_FILL)
    full.wait(40_000)
    full.do(c.LeaveSeat(PLAYERS[1]))
    assert full.timer(c.TimerKind.HOUSE_FILL).deadline_ms == START_MS + 30_000


def test_filling_does_not_take_seats_of_people_who_decide() -> None:
    """W5, Ç9: in the Nachspiel only free seats are filled."""
    table = nachspiel(canak(4, house_fill_after_ms=10_000))
    table.do(c.LeaveSeat(PLAYERS[3]))
    events = table.expire(c.TimerKind.HOUSE_FILL)
    assert [each.seat for each in of_kind(events, e.HouseSeated)] == [3]
    assert table.seat(1).status is SeatStatus.DECIDING
    assert table.is_in(Phase.NACHSPIEL)
    events = table.expire(c.TimerKind.NACHSPIEL)
    assert "TableClosed" in kinds(events), "bots alone do not keep a table"


def test_who_sits_is_bound_to_the_table() -> None:
    """W3: seats of people, minded or not, bind them; given-up ones and closed tables do not."""
    table = dealt(esli())
    assert seated_players(table.state) == set(PLAYERS)
    table.away(1)
    assert PLAYERS[1] in seated_players(table.state)
    table.do(c.Forfeit(PLAYERS[2]))
    assert seated_players(table.state) == {PLAYERS[0], PLAYERS[1], PLAYERS[3]}
