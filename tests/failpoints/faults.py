"""Errors of a database at its statements, as its driver gives them: on PostgreSQL the server itself
raises them, on SQLite a connection does in its place.
"""

import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine

from okey_runtime.database import Database
from okey_runtime.postgres import PostgresBackend
from okey_runtime.sqlite import SqliteBackend

SQLSTATES: Final = (
    *("53100", "57014", "53200", "53300", "53400", "23505", "22P02", "42P01", "42501", "0A000"),
    *("XX000", "XX001", "58030", "25006", "40001", "40P01", "55P03", "55006", "54000", "P0001"),
    *("23514", "22001", "25P02", "26000", "28000", "3D000", "3F000", "57P01", "57P03", "57P04"),
    *("08006", "40003", "44000", "F0000", "HV000", "21000", "2D000", "38000", "39000", "0L000"),
)
"""Every class, and of the resources' and operators' classes each state that servers give."""
SQLITE_ERRORS: Final = (
    *("FULL", "IOERR", "BUSY", "CONSTRAINT", "READONLY", "CORRUPT", "NOMEM", "INTERRUPT", "ERROR"),
    *("LOCKED", "SCHEMA", "TOOBIG", "PROTOCOL", "CANTOPEN", "NOTADB", "MISMATCH", "PERM", "ABORT"),
    *("INTERNAL", "NOTFOUND", "NOLFS", "AUTH", "RANGE"),
)
"""Every primary code that SQLite gives for a failure, without ``SQLITE_`` in front of it."""

_COMMIT: Final = "COMMIT"
_READS: Final = re.compile(r"\s*(SELECT|WITH|BEGIN$|PRAGMA|SHOW)", re.IGNORECASE)


class Plan(Protocol):
    """Says which error a statement ends with; "" for none."""

    def strike(self, label: str) -> str:
        """The SQLSTATE, or SQLite's name of the error. Called on any thread."""
        ...


class FirstPasses:
    """Each statement fails the first times that it is passed, with one error after another; then it
    is healed.
    """

    def __init__(self, errors: Sequence[str], times: int = 2) -> None:
        self.passes: Final = Counter[str]()
        self.struck: Final = dict[str, str]()
        self.is_on = True
        self._errors = errors
        self._times = times
        self._lock = threading.Lock()

    def strike(self, label: str) -> str:
        """The next error, at a statement's first passes."""
        with self._lock:
            if not self.is_on:
                return ""
            self.passes[label] += 1
            if self.passes[label] > self._times:
                return ""
            return self.struck.setdefault(label, self._errors[len(self.struck) % len(self._errors)])


@dataclass
class Writes:
    """While there is an ``error``, all statements fail with it, or those that write."""

    error: str = ""
    reads_too: bool = False

    def strike(self, label: str) -> str:
        """The error, if there is one now."""
        statement = label.partition(" ")[2]
        return "" if _READS.match(statement) and not self.reads_too else self.error


def watch(database: Database, side: str, plan: Plan) -> None:
    """From now on the plan says what becomes of the database's statements; ``side`` names it."""
    backend = database._backend

    def strike(statement: str) -> str:
        return plan.strike(f"{side} {label_of(statement)}")

    if isinstance(backend, PostgresBackend):
        _watch_postgres(backend._engine.sync_engine, strike)
    else:
        assert isinstance(backend, SqliteBackend)
        for engine in (backend._write_engine, backend._read_engine):
            _watch_sqlite(engine, strike)


def label_of(statement: str) -> str:
    """A statement without what differs from one time to the next."""
    return re.sub(r"\s+", " ", re.sub(r"\?(, \?)+", "?", statement)).strip()[:90]


def _watch_postgres(engine: Engine, strike: Callable[[str], str]) -> None:
    def before(
        connection: Connection, _cursor: Any, statement: str, values: Any, _context: Any, many: bool
    ) -> tuple[str, Any]:
        state = strike(statement)
        if not state:
            return statement, values
        return raising(state), [()] if many else ()

    def commit(connection: Connection) -> None:
        state = strike(_COMMIT)
        if state:
            connection.exec_driver_sql(raising(state))

    event.listen(engine, "before_cursor_execute", before, retval=True)
    event.listen(engine, "commit", commit)


def raising(state: str) -> str:
    """A statement that fails with that SQLSTATE."""
    return f"DO $$ BEGIN RAISE EXCEPTION 'as the test says' USING ERRCODE = '{state}'; END $$"


def _watch_sqlite(engine: Engine, strike: Callable[[str], str]) -> None:
    def refuse(statement: str) -> None:
        name = strike(statement)
        if name:
            raise sqlite_error(name)

    class FailingCursor(sqlite3.Cursor):
        def execute(self, statement: str, *values: Any) -> Any:
            refuse(statement)
            return super().execute(statement, *values)

        def executemany(self, statement: str, values: Any, /) -> Any:
            refuse(statement)
            return super().executemany(statement, values)

    class Failing(sqlite3.Connection):
        def cursor(self, *_: Any) -> sqlite3.Cursor:  # type: ignore[override]
            return super().cursor(FailingCursor)

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            refuse(statement)
            return super().execute(statement, *values)

        def commit(self) -> None:
            refuse(_COMMIT)
            super().commit()

    def connect(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
        options["factory"] = Failing

    event.listen(engine, "do_connect", connect)


def sqlite_error(name: str) -> sqlite3.Error:
    """An error as the driver makes it."""
    kind = sqlite3.IntegrityError if name == "CONSTRAINT" else sqlite3.OperationalError
    error = kind("as the test says")
    error.sqlite_errorname = f"SQLITE_{name}"
    error.sqlite_errorcode = getattr(sqlite3, error.sqlite_errorname)
    return error
