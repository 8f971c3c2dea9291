"""Waiting for a database that is away when the engine starts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from okey_runtime.database import DatabaseAway
from okey_runtime.outage import Outage
from services.engine.backoff import waits_s

T = TypeVar("T")


async def until_there(ask: Callable[[], Awaitable[T]]) -> T:
    """What the question comes to, asked again until the database answers."""
    outage = Outage("database", DatabaseAway)
    waits = waits_s()
    while True:
        try:
            with outage.asking():
                return await ask()
        except DatabaseAway:
            await asyncio.sleep(next(waits))
