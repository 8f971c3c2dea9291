"""Kills processes of a stand while money moves, a given number of times."""

import asyncio
from collections.abc import Awaitable
from typing import Final

from tests.chaos.money.checks import require_all_told, require_exactly_once
from tests.chaos.money.load import Load
from tests.chaos.money.stand import Stand

TABLES_AT_ONCE: Final = 4
_LONGEST_LIFE_S: Final = 1.5
_POSTGRES_SHARE: Final = 0.05
_DRAIN_TIMEOUT_S: Final = 120.0


async def kill_and_check(stand: Stand, load: Load, killing: Awaitable[None]) -> int:
    """Kill while tables are played, let every table end, check; the journals so far.

    Raises:
        AssertionError: a chip, an answer or a match is not as it must be.
        TimeoutError: the tables do not come to their end though everything runs.
    """
    playing = asyncio.create_task(load.play(TABLES_AT_ONCE))
    try:
        await _until_killed(killing, playing)
        await stand.spare()
        load.finish()
        async with asyncio.timeout(_DRAIN_TIMEOUT_S):
            await playing
            await require_all_told(stand)
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
    return await require_exactly_once(stand, load)


async def kill_at_random(stand: Stand, kills: int) -> None:
    """Kill until so many processes have died, counting the two that ``spare`` will kill."""
    last = stand.kills + kills - len(stand.services)
    while stand.kills < last:
        await stand.ready()
        await asyncio.sleep(stand.chance.uniform(0.0, _LONGEST_LIFE_S))
        if stand.chance.random() < _POSTGRES_SHARE:
            await stand.kill_postgres()
        else:
            stand.services[stand.chance.choice(("engine", "wallet"))].kill()


async def kill_everybody(stand: Stand, load: Load) -> None:
    """Engine and wallet at once, then the database, each time while requests are answered."""
    await load.moves()
    for service in stand.services.values():
        service.kill()
    await stand.ready()
    await load.moves()
    await stand.kill_postgres()
    # One that was started just then has ended by itself, and could not be killed.
    await stand.ready()
    await load.moves()


async def _until_killed(killing: Awaitable[None], playing: "asyncio.Task[None]") -> None:
    killed = asyncio.ensure_future(killing)
    await asyncio.wait((killed, playing), return_when=asyncio.FIRST_COMPLETED)
    if playing.done():
        killed.cancel()
        playing.result()
    await killed
