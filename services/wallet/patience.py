"""Transactions that others queue behind wait only shortly for a lock; SQLite has no row locks."""

from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

PATIENCE_MS: Final = 200
"""Far longer than a transaction holds its locks; below PostgreSQL's ``deadlock_timeout``."""
_LOCK_NOT_AVAILABLE: Final = "55P03"


def wait_shortly(connection: Connection) -> None:
    """For the rest of the transaction, give up a lock that does not become free soon."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = {PATIENCE_MS}"))


def is_out_of_patience(error: DBAPIError) -> bool:
    """Whether a lock did not become free soon."""
    return getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE
