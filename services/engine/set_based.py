"""Many rows in one statement, on either database: inserts leave out the keys that are taken."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Delete,
    Table,
    bindparam,
    delete,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from okey_runtime.sqlite import run_quickly

Values = dict[str, Any]


def insert_new(connection: Connection, table: Table, rows: Sequence[Values]) -> set[Any]:
    """Insert in the given order what is not there; the first keys of the rows that went in.

    Every row has a value for every column that is named in the first one.
    """
    if not rows:
        return set()
    names = tuple(rows[0])
    if connection.dialect.name == "postgresql":
        columns = {name: [row[name] for row in rows] for name in names}
        return set(connection.execute(_from_arrays(table, names), columns).scalars())
    return set(connection.execute(_from_values(table), list(rows)).scalars())


def insert_where_free(connection: Connection, table: Table, rows: Sequence[Values]) -> int:
    """Insert in the given order what is not there; how many rows went in.

    To be told which ones costs as much again as the rows themselves: SQLite hands each key over
    alone, and the interpreter lock with it. Every row has the same columns.
    """
    if not rows:
        return 0
    names = tuple(column.name for column in table.columns if column.name in rows[0])
    if connection.dialect.name == "postgresql":
        columns = {name: [row[name] for row in rows] for name in names}
        return connection.execute(_quietly_from_arrays(table, names), columns).rowcount
    values = tuple(row[name] for row in rows for name in names)
    return run_quickly(connection, _values_of(table, names, len(rows)), values).rowcount


def put(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows, or replace those with the same key; no key twice."""
    if rows:
        connection.execute(_upsert(connection.dialect.name, table), list(rows))


def put_newer(connection: Connection, table: Table, row: Values, by: Column[Any]) -> None:
    """Insert a row, or replace the one with its key where that has a smaller value in a column."""
    insert = _upsert(connection.dialect.name, table, by.name)
    connection.execute(insert, [row])


def delete_pairs(
    connection: Connection, first: Column[Any], second: Column[Any], pairs: Sequence[Any]
) -> None:
    """Delete the rows whose two columns are one of the pairs."""
    if pairs:
        connection.execute(_of_pairs(first, second), {"pairs": list(pairs)})


@cache
def _from_arrays(table: Table, names: tuple[str, ...]) -> ReturningInsert[Any]:
    return _quietly_from_arrays(table, names).returning(_key(table))


@cache
def _quietly_from_arrays(table: Table, names: tuple[str, ...]) -> postgresql.Insert:
    """One array a column, unnested side by side: the same statement for any number of rows."""
    columns = [table.c[name] for name in names]
    arrays = [bindparam(c.name, type_=postgresql.ARRAY(c.type)) for c in columns]
    insert = postgresql.insert(table).from_select(
        list(names), select(*(func.unnest(array) for array in arrays))
    )
    return insert.on_conflict_do_nothing()


@cache
def _values_of(table: Table, names: tuple[str, ...], count: int) -> str:
    """SQLite's statement for so many rows, which SQLAlchemy would write anew each time."""
    one_row = sqlite.insert(table).on_conflict_do_nothing()
    statement = str(one_row.compile(dialect=sqlite.dialect(), column_keys=list(names)))
    places = f"({', '.join('?' * len(names))})"
    return statement.replace(places, ", ".join([places] * count))


@cache
def _from_values(table: Table) -> ReturningInsert[Any]:
    """SQLAlchemy writes all rows into one VALUES."""
    return sqlite.insert(table).on_conflict_do_nothing().returning(_key(table))


@cache
def _upsert(dialect: str, table: Table, newer_by: str = "") -> Any:
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    key = [column.name for column in table.primary_key.columns]
    values = {c.name: insert.excluded[c.name] for c in table.columns if c.name not in key}
    is_newer = table.c[newer_by] < insert.excluded[newer_by] if newer_by else None
    return insert.on_conflict_do_update(index_elements=key, set_=values, where=is_newer)


@cache
def _of_pairs(first: Column[Any], second: Column[Any]) -> Delete:
    pairs: BindParameter[Any] = bindparam("pairs", expanding=True)
    return delete(first.table).where(tuple_(first, second).in_(pairs))


def _key(table: Table) -> Column[Any]:
    return next(iter(table.primary_key.columns))
