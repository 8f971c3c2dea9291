"""Folding events rebuilds a table's state exactly."""

import pytest

from okey.table import commands as c
from okey.table import events as e
from okey.table.evolve import evolve, match_of, replay, round_of, turn_of
from tests.factories import (
    PLAYERS,
    Driver,
    canak,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
)


def played() -> Driver:
    """A Klasik table whose tiles were all dealt: time-outs, a forfeit, a take-over, a return."""
    table = paid(klasik(4))
    table.do(c.AddNonce(PLAYERS[0], bytes(32)))
    table.start()
    table.away(0)
    table.do(c.ReturnToSeat(table.player(0)))
    table.pass_turn()
    table.do(c.TakeOver("engine-2", table.now_ms))
    table.act(c.AnnounceCift())
    table.act(c.WithdrawCift())
    table.do(c.Forfeit(PLAYERS[3]))
    while table.state.round is not None:
        table.time_out()
    table.next_round()
    return table


@pytest.mark.parametrize("build", [played, lambda: opened(canak(house_fill_after_ms=9)), paid])
def test_replaying_all_events_gives_the_state(build: object) -> None:
    """T9, U12: recovery, audit and replay are the same fold."""
    assert callable(build)
    table: Driver = build()
    assert replay(table.events) == table.state


def test_a_table_begins_with_its_opening() -> None:
    """W1: no other event stands alone."""
    with pytest.raises(AssertionError, match="CountdownCancelled before TableOpened"):
        evolve(None, e.CountdownCancelled())
    with pytest.raises(AssertionError, match="without events"):
        replay(())


def test_asking_for_what_does_not_run_is_a_programmers_error() -> None:
    """U12: commands check before they ask."""
    with pytest.raises(AssertionError, match="WAITING"):
        match_of(opened().state)
    for build in (paused, nachspiel):
        with pytest.raises(AssertionError, match="no round"):
            round_of(build().state)
        with pytest.raises(AssertionError, match="no round"):
            turn_of(build().state)


def test_a_match_id_names_the_coming_or_the_running_match() -> None:
    """M5: one more than the last one, until it has begun."""
    table = paused()
    assert table.state.match_id == match_of(table.state).match_id
    table = nachspiel()
    assert table.state.match_id.endswith("-2")
