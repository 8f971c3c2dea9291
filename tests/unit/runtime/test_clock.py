import asyncio

import pytest

from okey_runtime.clock import SystemClock, VirtualClock


def test_virtual_clock_stands_still_until_it_is_advanced() -> None:
    clock = VirtualClock(now_ms=5_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_000, 0)
    clock.advance_ms(250)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_250, 250)


def test_virtual_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="-1 ms"):
        VirtualClock().advance_ms(-1)


async def test_virtual_sleepers_wake_in_the_order_of_their_moments() -> None:
    clock = VirtualClock()
    woken: list[int] = []

    async def sleeper(moment_ms: int) -> None:
        await clock.sleep_until_ms(moment_ms)
        woken.append(moment_ms)

    async with asyncio.TaskGroup() as tasks:
        for moment_ms in (30, 10, 20, 999):
            tasks.create_task(sleeper(moment_ms))
        await asyncio.sleep(0)
        clock.advance_ms(30)
        await asyncio.sleep(0)
        assert woken == [10, 20, 30]
        clock.advance_ms(1_000)
    assert woken == [10, 20, 30, 999]


async def test_virtual_sleep_until_a_past_moment_returns_at_once() -> None:
    clock = VirtualClock()
    clock.advance_ms(10)
    await asyncio.wait_for(clock.sleep_until_ms(10), timeout=1)


async def test_a_cancelled_sleeper_does_not_hold_up_the_clock() -> None:
    clock = VirtualClock()
    sleeper = asyncio.create_task(clock.sleep_until_ms(10))
    await asyncio.sleep(0)
    sleeper.cancel()
    await asyncio.gather(sleeper, return_exceptions=True)
    clock.advance_ms(10)
    assert clock.monotonic_ms() == 10


async def test_system_clock_never_wakes_a_sleeper_early() -> None:
    clock = SystemClock()
    due_ms = clock.monotonic_ms() + 3
    await clock.sleep_until_ms(due_ms)
    assert clock.monotonic_ms() >= due_ms


def test_system_clock_tells_milliseconds_since_the_epoch() -> None:
    assert 1_600_000_000_000 < SystemClock().now_ms() < 10_000_000_000_000
