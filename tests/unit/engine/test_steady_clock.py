"""The time that all engines share, read over a network that is slow now and then."""

from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from okey_runtime.clock import VirtualClock
from services.engine.steady_clock import SteadyClock, common_clock

AHEAD_MS = 12_345


class SlowTeller:
    """Tells a time that is ahead of the machine's; ``trips`` are the milliseconds there and back
    of each question.
    """

    def __init__(self, clock: VirtualClock, trips: Iterable[tuple[int, int]]) -> None:
        self.asked = 0
        self._clock = clock
        self._trips: Iterator[tuple[int, int]] = iter(trips)

    async def tell(self) -> int:
        self.asked += 1
        there_ms, back_ms = next(self._trips)
        self._clock.advance_ms(there_ms)
        now_ms = self._clock.now_ms() + AHEAD_MS
        self._clock.advance_ms(back_ms)
        return now_ms


async def read(*trips: tuple[int, int]) -> tuple[int, int]:
    """By how much the clock is wrong, and how often it was asked for."""
    machine = VirtualClock()
    teller = SlowTeller(machine, trips)
    clock: SteadyClock = await common_clock(machine, teller.tell)
    return clock.now_ms() - machine.now_ms() - AHEAD_MS, teller.asked


async def test_a_slow_answer_is_asked_for_again() -> None:
    """U4: an engine whose first look took long would shift every clock that it takes over."""
    assert await read((2, 8_000), (2, 2)) == (0, 2)


async def test_a_quick_answer_is_enough() -> None:
    assert await read((3, 3)) == (0, 1)


async def test_where_every_answer_is_slow_the_quickest_one_counts() -> None:
    trips = [(100, 1_000), (30, 50), *[(500, 500)] * 8]
    assert await read(*trips) == (-10, 10)


async def test_answers_that_are_slow_on_one_way_bound_each_other() -> None:
    """One that lay unread for long says only that it was not later: others say how late it was."""
    assert await read((1, 900), (700, 1)) == (0, 2)


async def test_a_time_that_is_set_meanwhile_is_read_anew() -> None:
    """What was told before and after contradicts itself: the newest counts."""
    machine = VirtualClock()
    ahead = chain([AHEAD_MS], repeat(0))

    async def tell() -> int:
        machine.advance_ms(50)
        now_ms = machine.now_ms() + next(ahead)
        machine.advance_ms(50)
        return now_ms

    clock = await common_clock(machine, tell)
    assert clock.now_ms() == machine.now_ms()
