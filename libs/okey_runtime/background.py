"""Background work that is done again and again, and survives that others are away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from okey.errors import Exhausted, Unavailable
from okey_runtime.clock import Clock
from okey_runtime.errors import RpcFailure
from okey_runtime.logging import get_logger

_LEVELS: Final = {1: logging.INFO, 2: logging.WARNING}
"""By how many rounds have failed in a row; the rest is DEBUG."""

_log = get_logger(__name__)


async def repeat(
    name: str, work: Callable[[], Awaitable[None]], every_ms: int, clock: Clock
) -> None:
    """Do the work until cancelled, ``every_ms`` from start to start, or at once where it takes
    longer.

    What is away or busy makes a round fail; any other error ends it. The first failure in a row is
    told at INFO, where services start together, one of them comes first; the second is a warning,
    the rest are told at DEBUG, and how many they were once a round succeeds.
    """
    failures = 0
    while True:
        next_ms = clock.monotonic_ms() + every_ms
        try:
            await work()
            if failures > 1:
                _log.info("background_rounds_succeed_again", work=name, failures=failures)
            failures = 0
        except (RpcFailure, Unavailable, Exhausted) as error:
            failures += 1
            _log.log(
                _LEVELS.get(failures, logging.DEBUG),
                "background_round_failed",
                work=name,
                error=str(error),
            )
        # Python 3.11's wait_for, which the Redis client uses, may swallow a cancellation.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        await clock.sleep_until_ms(next_ms)
