"""Waiting for a database that is away, or fails, when a service starts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from okey_runtime.backoff import waits_s
from okey_runtime.database import DatabaseAway, DatabaseBusy, DatabaseRefused
from okey_runtime.outage import Outage

_FAILURES: Final = (DatabaseAway, DatabaseRefused, DatabaseBusy)

T = TypeVar("T")


async def until_there(ask: Callable[[], Awaitable[T]]) -> T:
    """What the question comes to, asked again until the database answers; any other error ends it.

    The log says once that it is away, and once that it is back.
    """
    outage = Outage("database", *_FAILURES)
    waits = waits_s()
    while True:
        try:
            with outage.asking():
                return await ask()
        except _FAILURES:
            await asyncio.sleep(next(waits))
