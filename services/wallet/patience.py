"""Transactions that others queue behind wait only shortly for a lock; SQLite has no row locks."""

from typing import Final

from sqlalchemy import Connection, text

PATIENCE_MS: Final = 200
"""Far longer than a transaction holds its locks; below PostgreSQL's ``deadlock_timeout``."""


def wait_shortly(connection: Connection) -> None:
    """For the rest of the transaction, give up a lock that does not become free soon: then it ends
    with ``DatabaseLocked``.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = {PATIENCE_MS}"))
