"""Schema changes with Alembic, the same on SQLite and PostgreSQL, run by the service before it
starts.

A service's ``migrations/env.py`` reads ``from okey_runtime.migrations import run_migrations`` and
``run_migrations()``. The whole upgrade is one transaction; several replicas that start at once take
turns.
"""

import asyncio
import threading
from pathlib import Path
from typing import Final

from alembic import command, context
from alembic.config import Config
from pydantic import SecretStr
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from okey_runtime import postgres, sqlite
from okey_runtime.database import parse_url
from okey_runtime.storage import DatabaseAway

_CONNECTION: Final = "connection"
UPGRADE_LOCK_ID: Final = 0x6F6B6579  # "okey": any fixed number, the same for all replicas

# Alembic keeps the environment it works in as a global of its module.
_one_at_a_time: Final = threading.Lock()


async def migrate(url: str | SecretStr, script_location: Path) -> None:
    """Bring the database's schema to the newest version that ``script_location`` (a ``migrations``
    folder) holds.

    Raises:
        DatabaseAway: the database cannot be reached.
    """
    await asyncio.to_thread(_migrate, parse_url(url), script_location)


def run_migrations() -> None:
    """The body of every ``migrations/env.py``: run the scripts on the connection that ``migrate``
    has opened.
    """
    connection = context.config.attributes.get(_CONNECTION)
    if not isinstance(connection, Connection):
        raise RuntimeError("migrations run through okey_runtime.migrations.migrate(), not by hand")
    context.configure(connection=connection, target_metadata=None)
    with context.begin_transaction():
        context.run_migrations()


def _migrate(url: URL, script_location: Path) -> None:
    with _one_at_a_time:
        if url.get_backend_name() == "sqlite":
            _migrate_sqlite(url, script_location)
        else:
            # A loop of its own: Alembic is synchronous and would mix up two upgrades that share
            # one.
            asyncio.run(_migrate_postgres(url, script_location))


def _migrate_sqlite(url: URL, script_location: Path) -> None:
    engine = sqlite.sqlite_engine(url, "BEGIN IMMEDIATE", connections=1)
    try:
        with engine.begin() as connection:
            _upgrade(connection, script_location)
    except DBAPIError as error:
        raise sqlite.away(error) or error from error.orig
    finally:
        engine.dispose()


async def _migrate_postgres(url: URL, script_location: Path) -> None:
    engine = postgres.postgres_engine(url, connections=1)

    def upgrade(connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": UPGRADE_LOCK_ID})
        _upgrade(connection, script_location)

    try:
        async with engine.begin() as connection:
            await connection.run_sync(upgrade)
    except DBAPIError as error:
        raise postgres.away(error) or error from error.orig
    except (OSError, TimeoutError) as error:
        raise DatabaseAway(f"the database does not answer ({type(error).__name__})") from error
    finally:
        await engine.dispose()


def _upgrade(connection: Connection, script_location: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(script_location).replace("%", "%%"))
    config.attributes[_CONNECTION] = connection
    command.upgrade(config, "head")
