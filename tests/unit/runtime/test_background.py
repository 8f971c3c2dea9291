"""Work that is done again and again goes on while others are away, and says so."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from okey.errors import Unavailable
from okey_runtime.background import repeat
from okey_runtime.clock import VirtualClock


def rounds(*outcomes: bool) -> Callable[[], Awaitable[None]]:
    """Work that fails where the outcome is False, and is cancelled after the last."""
    left = iter(outcomes)

    async def work() -> None:
        is_well = next(left, None)
        if is_well is None:
            raise asyncio.CancelledError
        if not is_well:
            raise Unavailable("the engine is away")

    return work


async def levels_of(*outcomes: bool) -> list[str]:
    with capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        await repeat("list", rounds(*outcomes), 0, VirtualClock())
    return [
        line["log_level"] if line["event"] == "background_round_failed" else line["event"]
        for line in lines
    ]


async def test_the_first_failure_in_a_row_is_no_warning_yet() -> None:
    assert await levels_of(False, True, False, True) == ["info", "info"]


async def test_whoever_stays_away_is_warned_of_once() -> None:
    assert await levels_of(False, False, False, False, True, False) == [
        "info",
        "warning",
        "debug",
        "debug",
        "background_rounds_succeed_again",
        "info",
    ]
