"""What both kinds of database have in common: isolation levels, named errors, and the interface
behind ``Database``.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from okey.errors import Exhausted, Unavailable

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
    """The database cannot be reached or was lost on the way.

    If it was lost while committing, nobody knows whether the transaction took effect: repeat it
    with the same key.
    """

    reason = "DATABASE_AWAY"


class DatabaseBusy(Exhausted):
    """More work waits for the database than its bound allows, or a conflict outlasted every retry;
    try again later.
    """

    reason = "DATABASE_BUSY"


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
