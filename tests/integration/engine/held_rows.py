"""Rows of the engines' database that somebody else holds, so that whoever writes to them waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Select, make_url, select

from okey_runtime.postgres import postgres_engine
from services.engine.schema import members


@asynccontextmanager
async def kept_from_moving(postgres_url: str, engine: str) -> AsyncIterator[None]:
    """While the block runs, what the engine begins to hand over does not arrive."""
    async with kept_waiting(postgres_url, select(members).where(members.c.engine == engine)):
        yield


@asynccontextmanager
async def kept_waiting(postgres_url: str, rows: Select[Any]) -> AsyncIterator[None]:
    """While the block runs, whoever writes to these rows waits."""
    database = postgres_engine(make_url(postgres_url), 1)
    try:
        async with database.begin() as connection:
            await connection.execute(rows.with_for_update())
            yield
    finally:
        await database.dispose()
