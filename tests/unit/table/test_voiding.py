"""An operator voids the running match."""

from collections.abc import Callable

import pytest

from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import NoMatchRunning, TableIsClosed, TurnOver
from okey.table.reasons import CloseReason, RoundResult, VacateReason, VoidReason
from okey.table.state import Phase, SeatStatus, running_timers
from tests.factories import (
    PLAYERS,
    TABLE_ID,
    Driver,
    canak,
    dealt,
    kinds,
    klasik,
    nachspiel,
    of_kind,
    opened,
    paid,
    paused,
    settling,
    solo,
    starting,
    the,
    tie_break,
)

VOID = c.VoidMatch("operator-7", "cards on the table")


def test_a_voided_canak_match_leaves_the_older_kasa() -> None:
    """M10, Ç8: this match's share is taken out again; the people decide as after any match."""
    table = nachspiel()
    table.play_on(0, 1)
    table.start()
    assert table.state.kasa == 20
    events = table.do(VOID)
    assert kinds(events) == ["RoundEnded", "MatchVoided", "NachspielStarted"]
    voided = the(events, e.MatchVoided)
    assert (voided.match_id, voided.reason) == (f"{TABLE_ID}-2", VoidReason.OPERATOR)
    assert (voided.operator, voided.note) == ("operator-7", "cards on the table")
    assert voided.kasa == table.state.kasa == 10
    assert {seat.status for seat in table.state.seats} == {SeatStatus.DECIDING}
    assert table.state.match is None
    table.play_on(0, 1)
    assert the(table.start(), e.MatchStarted).match_id == f"{TABLE_ID}-3"


def test_the_seed_of_a_voided_round_is_published_and_never_used() -> None:
    """T9, M10: with the round's end; the next deal has the seed sealed there."""
    table = dealt()
    seed = table.round.seed
    events = table.do(VOID)
    ended, voided = the(events, e.RoundEnded), the(events, e.MatchVoided)
    assert (ended.result, ended.revealed) == (RoundResult.VOIDED, seed)
    assert (voided.revealed, voided.sealed) == (b"", ended.sealed)
    table.play_on(0, 1)
    table.start()
    assert table.round.seed == ended.sealed.seed != seed


def test_the_seed_sealed_in_a_pause_is_published_too() -> None:
    """T9, M10: it was meant for a round of the voided match."""
    table = paused()
    table.do(c.AddNonce(PLAYERS[0], b"\x01" * 32))
    assert table.state.sealed is not None
    sealed = table.state.sealed
    voided = the(table.do(VOID), e.MatchVoided)
    assert voided.revealed == sealed.seed
    assert voided.sealed != sealed


@pytest.mark.parametrize("build", [lambda: dealt(klasik()), paused, lambda: tie_break(0, 1)])
def test_a_voided_klasik_match_closes_the_table(build: Callable[[], Driver]) -> None:
    """M10, K11: in a round, a pause or a tie-break."""
    table = build()
    events = table.do(VOID)
    assert the(events, e.TableClosed).reason is CloseReason.VOIDED
    assert the(events, e.MatchVoided).kasa == 0
    assert table.is_in(Phase.CLOSED)
    assert running_timers(table.state) == ()


def test_penalties_stand_and_given_up_seats_are_free() -> None:
    """M10, M9: the forfeit before it is not undone; the 90 s of another end."""
    table = dealt(canak(4))
    table.do(c.Forfeit(PLAYERS[1]))
    table.away(2)
    table.do(VOID)
    assert table.seat(1).status is SeatStatus.FREE
    assert table.state.seat_of(PLAYERS[1]) == -1
    assert table.seat(2).status is SeatStatus.DECIDING
    assert table.seat(2).away_deadline_ms == 0


@pytest.mark.parametrize("seats", [2, 4])
def test_the_deal_goes_on_to_the_next_dealer_after_a_voided_match(seats: int) -> None:
    """T8, M10: voiding a match does not begin the order of dealers anew."""
    table = dealt(canak(seats))
    for _ in range(2 * seats):
        dealer = table.round.dealer
        table.do(VOID)
        table.play_on(*range(seats))
        table.start()
        assert table.round.dealer == (dealer + 1) % seats
        assert table.mover == (dealer + 2) % seats


def test_solo_bots_stay() -> None:
    """M10, O1: the person may play on at once."""
    table = dealt(solo(4))
    table.do(VOID)
    table.play_on(0)
    assert table.is_in(Phase.COUNTDOWN)


def test_no_move_counts_after_it() -> None:
    """M10, U12: the turn is gone."""
    table = dealt()
    move = table.move(c.Discard(Tile.K2))
    table.do(VOID)
    table.refused(move, TurnOver)


@pytest.mark.parametrize("build", [opened, paid, starting, settling, nachspiel])
def test_only_a_running_match_is_voided(build: Callable[[], Driver]) -> None:
    """M10, M5: a start or a result that the wallet has is not overtaken."""
    build().refused(VOID, NoMatchRunning)


END = c.VoidTable("operator-7", "the table is broken")


@pytest.mark.parametrize("build", [lambda: dealt(klasik(4)), lambda: dealt(canak(4)), paused])
def test_a_voided_table_voids_its_running_match_and_closes(build: Callable[[], Driver]) -> None:
    """M10: who ended it and why stands in both events; nobody is asked for a stake again."""
    table = build()
    events = table.do(END)
    voided, closed = the(events, e.MatchVoided), the(events, e.TableClosed)
    assert (voided.reason, voided.operator, voided.note) == (
        VoidReason.OPERATOR,
        "operator-7",
        "the table is broken",
    )
    assert closed == e.TableClosed(CloseReason.VOIDED, "operator-7", "the table is broken")
    assert "NachspielStarted" not in kinds(events)
    assert (table.state.phase, table.state.match, table.state.round) == (Phase.CLOSED, None, None)
    assert running_timers(table.state) == ()


@pytest.mark.parametrize("build", [opened, paid])
def test_a_voided_table_gives_back_the_stakes_of_the_coming_match(
    build: Callable[[], Driver],
) -> None:
    """M10, M1: held or only asked for, each hold is voided by its own event."""
    table = build()
    asked = [seat.hold_id for seat in table.state.seats if seat.hold_id]
    events = table.do(END)
    vacated = of_kind(events, e.SeatVacated)
    assert asked
    assert [event.hold_id for event in vacated] == asked
    assert {event.reason for event in vacated} == {VacateReason.VOIDED}
    assert kinds(events)[-1] == "TableClosed"


def test_a_start_that_is_with_the_wallet_is_overtaken() -> None:
    """M10, M5: the wallet is told to void the match after whatever it answers, which is ignored."""
    table = starting()
    match_id = table.state.match_id
    events = table.do(END)
    assert kinds(events) == ["MatchVoided", "TableClosed"]
    assert the(events, e.MatchVoided).match_id == match_id
    assert table.do(c.ConfirmStart(match_id)) == ()


def test_a_result_that_is_with_the_wallet_stands() -> None:
    """M10, M5: what is won is won; the table closes without waiting for the answer."""
    table = settling()
    match_id = table.state.match_id
    assert kinds(table.do(END)) == ["TableClosed"]
    assert table.do(c.ConfirmSettlement(match_id)) == ()


def test_a_table_in_the_nachspiel_gives_its_kasa_to_the_house() -> None:
    """M10, Ç10: nobody has paid again, so nothing else moves."""
    table = nachspiel()
    assert table.state.kasa > 0
    assert kinds(table.do(END)) == ["TableClosed"]
    assert table.state.kasa == 0
    table.refused(END, TableIsClosed)
