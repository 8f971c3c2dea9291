"""Clocks armed anew by a new owner."""

from collections.abc import Callable

import pytest

from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import TimerStale
from okey.table.state import running_timers
from tests.factories import (
    Driver,
    canak,
    dealt,
    klasik,
    nachspiel,
    opened,
    paid,
    paused,
    settling,
    solo,
    starting,
)


def turn() -> Driver:
    return dealt()


def house_turn() -> Driver:
    return dealt(solo(), starter=1)


def away() -> Driver:
    """The turn of somebody else, while seat 0 is away."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    return table


def fillable() -> Driver:
    return opened(canak(house_fill_after_ms=30_000))


KIND = c.TimerKind
CLOCKS: list[tuple[Callable[[], Driver], c.TimerKind, int]] = [
    (turn, KIND.TURN, 60_000),
    (house_turn, KIND.TURN, 10_000),
    (away, KIND.AWAY, 90_000),
    (paid, KIND.COUNTDOWN, 3_000),
    (paused, KIND.ROUND_PAUSE, 5_000),
    (nachspiel, KIND.NACHSPIEL, 60_000),
    (opened, KIND.IDLE, 1_800_000),
    (fillable, KIND.HOUSE_FILL, 30_000),
]


@pytest.mark.parametrize(("build", "kind", "full_ms"), CLOCKS)
@pytest.mark.parametrize("renewed_before_ms", [-7_000, 0, 100, 4_000, 8_000, 70_000])
def test_a_clock_goes_on_from_the_old_owners_last_sign_of_life(
    build: Callable[[], Driver], kind: c.TimerKind, full_ms: int, renewed_before_ms: int
) -> None:
    """U8: outages are no player's loss: what was left then, at least 5 s, at most the full time.

    ``renewed_before_ms`` is how long before the deadline the old owner was last alive.
    """
    table = build()
    old = table.timer(kind)
    table.wait(200_000)
    (taken,) = table.do(c.TakeOver("engine-2", old.deadline_ms - renewed_before_ms))
    assert isinstance(taken, e.TableTakenOver)
    left_ms = min(full_ms, max(5_000, renewed_before_ms))
    assert table.timer(kind) == c.Timer(kind, table.now_ms + left_ms, old.seat)
    assert set(taken.timers) == set(running_timers(table.state))
    if old.deadline_ms != table.timer(kind).deadline_ms:
        table.refused(c.Expire(old), TimerStale)


@pytest.mark.parametrize(("build", "kind", "full_ms"), CLOCKS)
def test_the_new_clock_rings(build: Callable[[], Driver], kind: c.TimerKind, full_ms: int) -> None:
    """U12: the clock armed anew is the one that counts."""
    table = build()
    table.wait(full_ms)
    table.do(c.TakeOver("engine-2", table.now_ms))
    assert table.expire(kind)


@pytest.mark.parametrize("build", [starting, settling])
def test_a_table_without_clocks_is_taken_over_too(build: Callable[[], Driver]) -> None:
    """W2: the fence is appended all the same."""
    table = build()
    assert table.do(c.TakeOver("engine-2", 0)) == (e.TableTakenOver("engine-2", ()),)


def test_all_clocks_of_a_table_are_armed() -> None:
    """U8: the turn of one seat and the 90 s of two others."""
    table = dealt(klasik(4))
    table.away(0)
    table.away(1)
    table.pass_turn()
    table.wait(500_000)
    table.do(c.TakeOver("engine-2", 0))
    assert {(timer.kind, timer.seat) for timer in running_timers(table.state)} == {
        (KIND.TURN, 2),
        (KIND.AWAY, 0),
        (KIND.AWAY, 1),
    }
    assert all(timer.deadline_ms > table.now_ms for timer in running_timers(table.state))


def test_a_stand_ins_turn_is_armed_for_its_players_return() -> None:
    """U8, U4: what is left of the turn is its player's, so the full time is a person's."""
    table = dealt()
    table.away(0)
    table.pass_turn()
    table.pass_turn()
    table.do(c.TakeOver("engine-2", 0))
    assert table.timer(KIND.TURN).deadline_ms == table.now_ms + 60_000
