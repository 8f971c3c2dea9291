"""The end of a run: everything comes to rest, however slow the machine is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from okey_runtime.database import Database, DatabaseAway
from services.engine.schema import cursors, feed, tables
from tests.chaos.tables.stand import TablesStand

_LOOK_EVERY_S: Final = 0.2
LOOKS_AT_REST: Final = 450
"""As many looks, not seconds: while the whole machine stops nobody looks either."""
MOST_LOOKS: Final = 3_000


class Left(NamedTuple):
    """How many tables have something left to do, how many rows there are, and how far wallet and
    ratings were told of them.
    """

    tables: int
    rows: int
    told: int


Look = Callable[[], Awaitable[Left | None]]
"""What is left; None where the database does not answer."""


async def until_settled(stand: TablesStand, playing: "asyncio.Task[None]") -> None:
    """Return once everybody has left and no table has anything left to tell wallet and ratings; or
    once nothing moves any more. What is not settled then is found by the checks.
    """
    database = Database(stand.engine_url, connections=1)
    try:
        await at_rest(lambda: _left(database), playing, lambda: asyncio.sleep(_LOOK_EVERY_S))
    finally:
        await database.close()


async def at_rest(
    look: Look, playing: "asyncio.Future[None]", pause: Callable[[], Awaitable[None]]
) -> bool:
    """Look again and again, until nothing is left; False once nothing moves, or after very many
    looks.
    """
    left: Left | None = None
    idle_looks = 0
    for _ in range(MOST_LOOKS):
        before, left = left, await look()
        if playing.done():
            playing.result()
            if left is not None and not left.tables:
                return True
        idle_looks = idle_looks + 1 if left == before else 0
        if idle_looks >= LOOKS_AT_REST:
            return False
        await pause()
    return False


async def _left(database: Database) -> Left | None:
    def count(connection: Connection) -> Left:
        return Left(*(int(connection.execute(query).scalar_one()) for query in _LEFT))

    try:
        return await database.read(count)
    except DatabaseAway:
        return None  # the server was killed a moment ago


_LEFT: Final = (
    select(func.count()).select_from(tables).where(~tables.c.is_retired),
    select(func.coalesce(func.max(feed.c.last), 0)),
    select(func.coalesce(func.sum(cursors.c.seq), 0)),
)
