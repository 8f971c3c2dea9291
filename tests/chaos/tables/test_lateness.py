"""The clients know when they themselves did not run."""

import asyncio

import pytest

from tests.chaos.tables.lateness import Lateness


class JumpingClock:
    """Each sleep lasts so much longer than it should."""

    def __init__(self, *late_ms: int) -> None:
        self._late_ms = iter(late_ms)
        self._now_ms = 1_000

    def now_ms(self) -> int:
        return self._now_ms + 5_000

    def monotonic_ms(self) -> int:
        return self._now_ms

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        late_ms = next(self._late_ms, None)
        if late_ms is None:
            raise asyncio.CancelledError
        self._now_ms = monotonic_ms + late_ms


async def test_every_stop_is_noted_and_no_hiccup() -> None:
    lateness = Lateness(JumpingClock(0, 100, 101, 3_000))
    with pytest.raises(asyncio.CancelledError):
        await lateness.run()
    assert [(stop.began_ms, stop.length_ms) for stop in lateness.stops] == [
        (6_400, 101),
        (6_601, 3_000),
    ]
