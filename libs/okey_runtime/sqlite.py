"""SQLite behind ``Database``: one writer thread, a few reader threads, every commit on the disk
before it is answered.

Many writing connections would queue at SQLite's lock with a p99 near a second, and a read that
upgrades to a write ignores ``busy_timeout``; so all writes go through one thread and begin with
BEGIN IMMEDIATE.
"""

import asyncio
import fcntl
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from okey.errors import OkeyError
from okey_runtime.storage import (
    DatabaseAway,
    DatabaseBusy,
    DatabaseRefused,
    Isolation,
    T,
    Work,
    tell_error,
)

BUSY_TIMEOUT_MS: Final = 5_000
# A thread that waits for the interpreter lock beside a busy event loop gets it after this long. The
# default of 5 ms brought commits down from 2,652 to 28 a second.
_SWITCH_INTERVAL_S: Final = 0.0002

# Primary result codes that speak of what the statement holds; every other one is an outage.
_REFUSALS: Final = frozenset(
    {
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    }
)
# The outage's own line says enough.
_FORESEEN: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN})
# In a migration also wrong SQL: the script is wrong.
_FAULTS_OF_SCRIPTS: Final = _REFUSALS | {sqlite3.SQLITE_ERROR}


class SqliteInUse(Exception):
    """Another process serves the same database file."""


@contextmanager
def held_alone(url: URL) -> Iterator[None]:
    """Hold the database file for this process, however it ends.

    Raises:
        SqliteInUse: another process of this machine holds it.
    """
    file = Path(f"{url.database}.lock")
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SqliteInUse(
                f"another process serves {url.database}: an SQLite file has one replica; "
                "use PostgreSQL for several"
            ) from error
        yield


class SqliteBackend:
    """A database file; ``readers`` bounds how many reads run at once."""

    def __init__(self, url: URL, readers: int) -> None:
        if not url.database or url.database == ":memory:":
            raise ValueError(
                f"{url.render_as_string()} is in memory, which readers and writer cannot share: "
                "name a file"
            )
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL_S))
        self._write_engine = sqlite_engine(url, "BEGIN IMMEDIATE", connections=1)
        self._read_engine = sqlite_engine(url, "BEGIN", connections=readers)
        self._writer = ThreadPoolExecutor(1, "sqlite-writer")
        self._readers = ThreadPoolExecutor(readers, "sqlite-reader")

    async def transact(self, work: Work[T], isolation: Isolation) -> T:
        """One writer, so every transaction is serializable whatever is asked."""
        return await _in_thread(self._writer, self._write_engine, work)

    async def read(self, work: Work[T]) -> T:
        """Run the work on the last committed state; writers do not wait for it."""
        return await _in_thread(self._readers, self._read_engine, work, is_read=True)

    async def scrub(self) -> None:
        """Bring the log into the file, where deleted content is zeros, and empty it."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, _naming, self._empty_the_log)

    def _empty_the_log(self) -> None:
        connection = self._write_engine.raw_connection()
        try:
            # Says whether a reader was in the way for as long as BUSY_TIMEOUT_MS.
            is_busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
        if is_busy:
            raise DatabaseBusy("a read keeps the database's log from being emptied; try again")

    async def close(self) -> None:
        """Let running work end, then close all connections (which checkpoints the WAL)."""
        for pool in (self._readers, self._writer):
            await asyncio.to_thread(pool.shutdown, wait=True)
        self._read_engine.dispose()
        self._write_engine.dispose()


def sqlite_engine(url: URL, begin: str, connections: int) -> Engine:
    """An engine whose transactions start with ``begin``; anything but BEGIN IMMEDIATE makes it
    read-only.
    """
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )
    is_writer = begin == "BEGIN IMMEDIATE"

    def prepare(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        # The driver's own notion of when to begin is switched off; `begin` below does it.
        connection.isolation_level = None
        if is_writer:
            connection.execute("PRAGMA journal_mode = WAL")
            # What is deleted is gone from the file too: names of players must be.
            connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {'OFF' if is_writer else 'ON'}")

    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", start)
    return engine


def run_quickly(
    connection: Connection, statement: str, values: Sequence[Any] = ()
) -> sqlite3.Cursor:
    """Run a statement of an SQLite transaction past SQLAlchemy, whose own part of it takes as long
    as ten rows do. Raises the driver's own error, which ``Database`` names.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection), f"{driver!r} is no SQLite database"
    return driver.execute(statement, values)


def named(error: sqlite3.Error, statement: str | None, *, is_read: bool = False) -> OkeyError:
    """What to raise instead of a driver's error: an outage, unless it is about what the statement
    holds. A write inside a read is the work's own fault.
    """
    code = _code(error)
    # Without a code it is the driver that refused, before SQLite had a say.
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    if code not in _FORESEEN:
        tell_error(name, str(error), statement)
    if code is None or code in _REFUSALS or (is_read and code == sqlite3.SQLITE_READONLY):
        return DatabaseRefused(f"the database refused the work ({name})")
    return DatabaseAway(f"the database file failed ({name}: {error}); try again")


def is_scripts_fault(error: sqlite3.Error) -> bool:
    """Whether it is a migration's script that is wrong, and not the file."""
    return _code(error) in _FAULTS_OF_SCRIPTS


def _code(error: sqlite3.Error) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _naming(work: Callable[[], T], *, is_read: bool = False) -> T:
    """Run the work; what the driver raises is named."""
    try:
        return work()
    except sqlite3.Error as error:
        raise named(error, None, is_read=is_read) from error
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.Error):
            raise
        raise named(error.orig, error.statement, is_read=is_read) from error.orig


async def _in_thread(
    pool: ThreadPoolExecutor, engine: Engine, work: Work[T], *, is_read: bool = False
) -> T:
    def run() -> T:
        with engine.begin() as connection:
            return work(connection)

    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(pool, lambda: _naming(run, is_read=is_read))
