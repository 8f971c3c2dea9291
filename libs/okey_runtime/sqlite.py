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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from okey_runtime.storage import DatabaseAway, DatabaseBusy, Isolation, T, Work

BUSY_TIMEOUT_MS: Final = 5_000
# A thread that waits for the interpreter lock beside a busy event loop gets it after this long. The
# default of 5 ms brought commits down from 2,652 to 28 a second.
_SWITCH_INTERVAL_S: Final = 0.0002

# Primary result codes that speak of the file or its locks, not of the statement.
_AWAY_CODES: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOTADB,
    }
)


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
        return await _in_thread(self._readers, self._read_engine, work)

    async def scrub(self) -> None:
        """Bring the log into the file, where deleted content is zeros, and empty it."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._empty_the_log)

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
    as ten rows do. Raises ``DatabaseAway``, or the driver's own error where it is the statement's.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection), f"{driver!r} is no SQLite database"
    try:
        return driver.execute(statement, values)
    except sqlite3.Error as error:
        raise away(error) or error from None


def away(error: BaseException | None) -> DatabaseAway | None:
    """What to raise instead of the driver's error if the file or its lock is the trouble; None if
    the statement is.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(code, int) or code & 0xFF not in _AWAY_CODES:
        return None
    return DatabaseAway(f"the database file does not answer ({error}); try again")


async def _in_thread(pool: ThreadPoolExecutor, engine: Engine, work: Work[T]) -> T:
    def run() -> Any:
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as error:
            raise away(error.orig) or error from error.orig

    result: T = await asyncio.get_running_loop().run_in_executor(pool, run)
    return result
