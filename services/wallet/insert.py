"""Adding a row unless it is there: the one statement whose spelling the databases do not share."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Column, Connection, Table, insert, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import ReturningInsert

Value = str | int | bool | None


def insert_new(connection: Connection, table: Table, row: Mapping[str, Value]) -> bool:
    """Whether the row was added, its key was free; waits for a rival that has not committed."""
    return bool(insert_new_rows(connection, table, [row]))


@cache
def _unless_there(table: Table) -> ReturningInsert[str]:
    key: Column[str] = next(iter(table.primary_key.columns))
    return postgresql.insert(table).on_conflict_do_nothing().returning(key)


def insert_new_rows(
    connection: Connection, table: Table, rows: list[Mapping[str, Value]]
) -> list[str]:
    """Add rows in the given order unless their keys are taken; the (first) keys of those added."""
    key = next(iter(table.primary_key.columns))
    if connection.dialect.name == "postgresql":
        # Parameters, not values(): a statement with rows in it would be compiled anew each time.
        parameters = [dict(row) for row in rows]
        return list(connection.execute(_unless_there(table), parameters).scalars())
    # SQLite's triggers refuse a taken key before any ON CONFLICT is looked at, since OR REPLACE
    # would pass them by; there is one writer, so nobody comes between the two statements.
    asked = {str(row[key.name]): row for row in rows}
    taken = set(connection.execute(select(key).where(key.in_(asked))).scalars())
    free = [name for name in asked if name not in taken]
    if free:
        connection.execute(insert(table), [asked[name] for name in free])
    return free
