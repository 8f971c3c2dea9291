"""Background work survives that others are away, and ends when it is told to."""

import asyncio

import pytest

from okey.errors import Exhausted, Unavailable
from okey_runtime.background import repeat
from okey_runtime.clock import VirtualClock


class Work:
    """Counts its rounds; the test ends a round when it likes."""

    def __init__(self) -> None:
        self.rounds = 0
        self.began = asyncio.Event()
        self.ends = asyncio.Queue[Exception | None]()

    async def __call__(self) -> None:
        self.rounds += 1
        self.began.set()
        try:
            error = await self.ends.get()
        except asyncio.CancelledError:
            return  # as a library does that swallows the cancellation
        if error is not None:
            raise error

    async def next_round(self) -> None:
        await self.began.wait()
        self.began.clear()


async def test_a_round_that_fails_is_followed_by_the_next() -> None:
    work = Work()
    task = asyncio.create_task(repeat("work", work, 0, VirtualClock()))
    for outcome in (Unavailable("away"), Exhausted("busy"), None):
        await work.next_round()
        work.ends.put_nowait(outcome)
    await work.next_round()
    assert work.rounds == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_next_round_waits_for_its_time() -> None:
    clock, work = VirtualClock(), Work()
    task = asyncio.create_task(repeat("work", work, 100, clock))
    await work.next_round()
    clock.advance_ms(250)
    work.ends.put_nowait(None)
    await work.next_round()  # late already, so it follows at once
    assert work.rounds == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_swallowed_cancellation_ends_it_all_the_same() -> None:
    work = Work()
    task = asyncio.create_task(repeat("work", work, 100, VirtualClock()))
    await work.next_round()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.rounds == 1


async def test_an_error_of_its_own_ends_it() -> None:
    work = Work()
    work.ends.put_nowait(KeyError("a bug"))
    with pytest.raises(KeyError):
        await repeat("work", work, 100, VirtualClock())
