"""One heap of clocks: each rings once when it is due, never early, and not if it was set anew."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from okey.table.commands import Timer, TimerKind
from okey_runtime.clock import VirtualClock
from services.engine.steady_clock import SteadyClock
from services.engine.timers import Timers

A, B = "a" * 26, "b" * 26


class Bell:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.steady = SteadyClock(self.clock)
        self.rung: list[tuple[str, Timer, int]] = []
        self.timers = Timers(self.steady, self._ring, lambda: None)

    def _ring(self, table_id: str, timer: Timer) -> None:
        self.rung.append((table_id, timer, self.steady.now_ms()))

    def after(self, ms: int, kind: TimerKind = TimerKind.TURN, seat: int = 0) -> Timer:
        return Timer(kind, self.steady.now_ms() + ms, seat)

    async def advance(self, ms: int) -> None:
        self.clock.advance_ms(ms)
        for _ in range(5):
            await asyncio.sleep(0)

    @property
    def tables(self) -> list[str]:
        return [table_id for table_id, _, _ in self.rung]


@pytest.fixture
async def bell() -> AsyncIterator[Bell]:
    made = Bell()
    running = asyncio.create_task(made.timers.run())
    await made.advance(0)
    yield made
    running.cancel()


async def test_a_clock_rings_once_when_it_is_due_and_never_early(bell: Bell) -> None:
    timer = bell.after(1_000)
    bell.timers.arm(A, [timer])
    await bell.advance(999)
    assert bell.rung == []
    await bell.advance(1)
    assert bell.rung == [(A, timer, timer.deadline_ms)]
    await bell.advance(100_000)
    assert len(bell.rung) == 1


async def test_clocks_ring_in_the_order_of_their_deadlines(bell: Bell) -> None:
    bell.timers.arm(A, [bell.after(300)])
    bell.timers.arm(B, [bell.after(100), bell.after(500, TimerKind.AWAY)])
    await bell.advance(0)
    await bell.advance(1_000)
    assert bell.tables == [B, A, B]


async def test_a_sooner_clock_wakes_the_sleeper(bell: Bell) -> None:
    bell.timers.arm(A, [bell.after(60_000)])
    await bell.advance(0)
    bell.timers.arm(B, [bell.after(10)])
    await bell.advance(0)
    await bell.advance(10)
    assert bell.tables == [B]


async def test_a_clock_set_anew_rings_at_its_new_time_only(bell: Bell) -> None:
    """U8: what was armed before and is armed no more is passed over."""
    bell.timers.arm(A, [bell.after(100)])
    later = bell.after(500)
    bell.timers.arm(A, [later])
    await bell.advance(0)
    await bell.advance(400)
    assert bell.rung == []
    await bell.advance(100)
    assert [timer for _, timer, _ in bell.rung] == [later]


async def test_a_table_let_go_rings_no_more(bell: Bell) -> None:
    bell.timers.arm(A, [bell.after(100)])
    bell.timers.disarm(A)
    bell.timers.arm(B, [bell.after(100)])
    bell.timers.arm(B, [])
    await bell.advance(1_000)
    assert bell.rung == []


async def test_a_clock_that_rang_in_vain_can_be_armed_again(bell: Bell) -> None:
    """The command that it caused was lost: loading the table arms the same clock again."""
    timer = bell.after(100)
    bell.timers.arm(A, [timer])
    await bell.advance(100)
    bell.timers.arm(A, [timer])
    await bell.advance(0)
    assert len(bell.rung) == 2


async def test_setting_the_machines_clock_rings_nothing() -> None:
    """Deadlines are wall time, but the engine's wall moves with the monotonic clock."""

    class Jumping(VirtualClock):
        jump_ms = 0

        def now_ms(self) -> int:
            return super().now_ms() + self.jump_ms

    clock = Jumping()
    steady = SteadyClock(clock)
    before = steady.now_ms()
    clock.jump_ms = 3_600_000
    assert steady.now_ms() == before
    clock.advance_ms(5)
    assert steady.now_ms() == before + 5
    assert steady.monotonic_of(before + 100) == clock.monotonic_ms() + 95
