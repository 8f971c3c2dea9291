"""What both kinds of database have in common: isolation levels, named errors, and the interface
behind ``Database``.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection

from okey.errors import Exhausted, Unavailable
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger

_MOST_TEXT_CHARS: Final = 300
_MOST_STATEMENT_CHARS: Final = 120

_log = get_logger(__name__)

T = TypeVar("T")
Work = Callable[[Connection], T]
"""Statements on one connection; it must not keep the connection, commit, or do anything but SQL."""


class Isolation(StrEnum):
    """How transactions of PostgreSQL are kept apart; SQLite has one writer and is always
    serializable.
    """

    SERIALIZABLE = "SERIALIZABLE"
    REPEATABLE_READ = "REPEATABLE READ"
    READ_COMMITTED = "READ COMMITTED"


class DatabaseAway(Unavailable):
    """The database cannot be reached, was lost on the way, or failed: every error of a database
    that is no verdict of ours.

    If it was lost while committing, nobody knows whether the transaction took effect: repeat it
    with the same key.
    """

    reason = "DATABASE_AWAY"


class DatabaseRefused(Unavailable):
    """The database works, and refused what one transaction holds: a value, or a constraint or
    trigger that nobody expected there. Nothing of the transaction took effect.

    The cause is the driver's error. Who has put several callers' work into the transaction tries
    each alone, so that one harms no other. Callers get the reason of an outage: it is one of theirs
    alone.
    """

    reason = DatabaseAway.reason


class DatabaseBusy(Exhausted):
    """More work waits for the database than its bound allows, or a conflict outlasted every retry;
    try again later.
    """

    reason = "DATABASE_BUSY"


class DatabaseLocked(DatabaseBusy):
    """Another transaction kept a lock for longer than this one was to wait."""


def tell_error(state: str, text: str, statement: str | None) -> None:
    """Log what the driver said, once in ten seconds for each state (an SQLSTATE, or SQLite's name
    of the error) and statement; callers get the state alone.
    """
    statement = " ".join((statement or "").split())[:_MOST_STATEMENT_CHARS]
    line, is_due = LINES.take(("database_error", state, statement), "error")
    if is_due:
        shown = text.partition("\n")[0][:_MOST_TEXT_CHARS]
        _log.error(
            "database_error",
            state=state,
            error=shown,
            statement=statement,
            left_out=line.left_out,
        )


class Backend(Protocol):
    """One kind of database; calls are not cancelled (``Database`` sees to that)."""

    async def transact(self, work: Work[T], isolation: Isolation) -> T:
        """Run the work in one transaction and commit it, or leave no trace of it."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run the work on one consistent snapshot; it cannot write."""
        ...

    async def scrub(self) -> None:
        """Leave nothing in the database's own files of what was deleted, as far as it is ours."""
        ...

    async def close(self) -> None:
        """Give every connection back."""
        ...
