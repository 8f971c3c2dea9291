"""Schema changes with Alembic, the same on SQLite and PostgreSQL: run by a job before a service
starts, or by the service itself; where a job does it, the service only checks that it has.

A service's ``migrations/env.py`` reads ``from okey_runtime.migrations import run_migrations`` and
``run_migrations()``. The whole upgrade is one transaction; several that run at once take turns.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from alembic import command, context
from pydantic import SecretStr
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from okey_runtime import postgres, schema, sqlite
from okey_runtime.database import parse_url
from okey_runtime.storage import DatabaseAway

_CONNECTION: Final = "connection"
UPGRADE_LOCK_ID: Final = 0x6F6B6579  # "okey": any fixed number, the same for all replicas

_STATEMENT_S: Final = 3_600.0
"""A step may fill a new column of millions of rows."""
LOCK_WAIT_MS: Final = 5_000
"""Whoever waits for a lock on a table has everybody behind it wait too, so that is kept short."""

_Work: TypeAlias = Callable[[Connection], None]

# Alembic keeps the environment it works in as a global of its module.
_one_at_a_time: Final = threading.Lock()


async def migrate(url: str | SecretStr, script_location: Path) -> None:
    """Bring the database's schema to the newest version that ``script_location`` (a ``migrations``
    folder) holds; one that is newer already stays, and that is logged.

    Raises:
        DatabaseAway: the database cannot be reached.
        DatabaseBusy: a transaction kept a lock that is needed; nothing was changed, so try again.
        SchemaUnknown: it is another service's database.
    """
    upgrade = partial(_upgrade, script_location)
    await asyncio.to_thread(_on_connection, parse_url(url), upgrade, _STATEMENT_S)


async def check_schema(url: str | SecretStr, script_location: Path) -> None:
    """Return where somebody has brought the schema to this version or a newer one.

    Raises:
        DatabaseAway: the database cannot be reached.
        SchemaIsOlder: nobody has; the message says what to run.
        SchemaUnknown: it is another service's database.
    """
    check = partial(schema.accept, migrations=script_location)
    seconds = postgres.STATEMENT_TIMEOUT_S
    await asyncio.to_thread(_on_connection, parse_url(url), check, seconds)


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


def _on_connection(url: URL, work: _Work, statement_s: float) -> None:
    """Do the work in one transaction, nobody else of this process beside it."""
    with _one_at_a_time:
        if url.get_backend_name() == "sqlite":
            _on_sqlite(url, work)
        else:
            # A loop of its own: Alembic is synchronous and would mix up two upgrades that share
            # one.
            asyncio.run(_on_postgres(url, work, statement_s))


def _on_sqlite(url: URL, work: _Work) -> None:
    engine = sqlite.sqlite_engine(url, "BEGIN IMMEDIATE", connections=1)
    try:
        with engine.begin() as connection:
            work(connection)
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.Error) or sqlite.is_scripts_fault(error.orig):
            raise error from error.orig
        raise sqlite.named(error.orig, error.statement) from error.orig
    finally:
        engine.dispose()


async def _on_postgres(url: URL, work: _Work, statement_s: float) -> None:
    engine = postgres.postgres_engine(url, connections=1, statement_s=statement_s)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(work)
    except DBAPIError as error:
        if postgres.is_scripts_fault(error):
            raise error from error.orig
        raise postgres.named(error) from error.orig
    except (OSError, TimeoutError) as error:
        raise DatabaseAway(f"the database does not answer ({type(error).__name__})") from error
    finally:
        await engine.dispose()


def _upgrade(script_location: Path, connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": UPGRADE_LOCK_ID})
        connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}"))
    found, newest = schema.schema_of(connection), schema.newest_schema(script_location)
    if schema.is_newer(found, newest):
        schema.tell_newer(found, newest)
        return
    config = schema.alembic_config(script_location)
    config.attributes[_CONNECTION] = connection
    command.upgrade(config, "head")
