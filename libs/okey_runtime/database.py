"""One code path for SQLite and PostgreSQL: ``transact`` for writes, ``read`` for snapshots, neither
cut off half-way.

Work is a function of a ``sqlalchemy.Connection``; which database stands behind it is said by the
URL alone. Once begun, a transaction runs to its end in a task of its own, whatever happens to its
caller (a deadline, a client that has gone).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from pydantic import SecretStr
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from okey_runtime.outage import Outage
from okey_runtime.postgres import PostgresBackend
from okey_runtime.sqlite import SqliteBackend
from okey_runtime.storage import (
    Backend,
    DatabaseAway,
    DatabaseBusy,
    DatabaseLocked,
    DatabaseRefused,
    Isolation,
    T,
    Work,
)

__all__ = [
    "Database",
    "DatabaseAway",
    "DatabaseBusy",
    "DatabaseLocked",
    "DatabaseRefused",
    "Isolation",
    "Work",
    "parse_url",
]


class Database:
    """A service's own database.

    Args:
        url: ``sqlite:////path/file.db`` or ``postgresql://user:password@host/name``.
        connections: PostgreSQL connections, or SQLite readers (its writer is always one).
        max_waiting: how many calls may be under way or waiting before further ones are refused.
        idle_ms: after how long a PostgreSQL server ends a transaction whose client says nothing,
            such as a process that is paused: until then others wait for its locks.

    Raises:
        ValueError: the URL names neither of the two, or an SQLite database in memory.
    """

    def __init__(
        self,
        url: str | SecretStr,
        *,
        connections: int = 8,
        max_waiting: int = 4_096,
        idle_ms: int = 30_000,
    ) -> None:
        parsed = parse_url(url)
        self.dialect: Final = parsed.get_backend_name()
        """``sqlite`` or ``postgresql``, for the few statements that must differ."""
        self._backend: Backend = (
            SqliteBackend(parsed, connections)
            if self.dialect == "sqlite"
            else PostgresBackend(parsed, connections, idle_ms)
        )
        self._max_waiting = max_waiting
        self._running: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        self._outage = Outage("database", DatabaseAway)

    async def transact(self, work: Work[T], isolation: Isolation = Isolation.SERIALIZABLE) -> T:
        """Run ``work`` in one transaction; it is committed when this returns, and left no trace if
        this raises.

        ``work`` may run several times (conflicts), so it changes nothing but the database. A
        cancelled caller does not stop it. After ``DatabaseAway`` it is unknown whether it took
        effect.

        Raises:
            DatabaseAway: no database, or it was lost on the way, or it failed, however.
            DatabaseRefused: it works, and refused this work: a constraint of the schema, a value.
            DatabaseBusy: too much waits already, or a conflict outlasted every retry.
            DatabaseLocked: a lock was waited for in vain.
        """
        self._admit()
        return await self._shielded(self._backend.transact(work, isolation))

    async def read(self, work: Work[T]) -> T:
        """Run ``work`` on one consistent snapshot of what is committed; it cannot write.

        Raises:
            DatabaseAway, DatabaseRefused: as ``transact``; also where the work writes.
            DatabaseBusy: too much waits already.
        """
        self._admit()
        return await self._shielded(self._backend.read(work))

    async def scrub(self) -> None:
        """Leave nothing in the files of what was deleted before; of PostgreSQL's its vacuum and its
        archive of logs take care.

        Raises:
            DatabaseAway: no database.
            DatabaseBusy: a long read is in the way; try again.
        """
        self._admit()
        await self._shielded(self._backend.scrub())

    async def close(self) -> None:
        """Let what is under way end, then close every connection; later calls raise
        ``DatabaseAway``.
        """
        self._is_closed = True
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._backend.close()

    def _admit(self) -> None:
        if self._is_closed:
            raise DatabaseAway("the database is closed: this process is stopping; ask another")
        if len(self._running) >= self._max_waiting:
            raise DatabaseBusy(
                f"{self._max_waiting} calls wait for the database already; try again later"
            )

    async def _shielded(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(self._told(work))
        self._running.add(task)
        task.add_done_callback(self._on_done)
        return await asyncio.shield(task)

    async def _told(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result; an outage is said here, because the caller may have gone."""
        with self._outage.asking():
            return await work

    def _on_done(self, task: asyncio.Task[T]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # it was said, whether or not anybody still waits for it


def parse_url(url: str | SecretStr) -> URL:
    """The parsed URL.

    Raises:
        ValueError: it is neither SQLite nor PostgreSQL; a password in it is not quoted.
    """
    text = url.get_secret_value() if isinstance(url, SecretStr) else url
    try:
        parsed = make_url(text)
    except ArgumentError as error:
        raise ValueError(
            "the database URL cannot be read: write sqlite:////path or postgresql://host/name"
        ) from error
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise ValueError(
            f"{parsed.render_as_string(hide_password=True)} is neither sqlite nor postgresql: "
            "use one of the two"
        )
    return parsed
