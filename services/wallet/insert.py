"""Adding rows, unless they are there: the one statement whose spelling the databases do not share.

Rows go as one JSON text, so that any number of them is the same statement.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import Insert, ReturningInsert

from services.wallet.step import padded

Value = str | int | bool | None
Row = Mapping[str, Value]


def insert_new(connection: Connection, table: Table, row: Row) -> bool:
    """Whether the row was added, its key was free; waits for a rival that has not committed."""
    return insert_new_rows(connection, table, [row])[0]


def insert_new_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> list[bool]:
    """Whether each row was added, its key was free; of two with the same key the first is.

    They are added in the order of their keys, so that nobody waits in a circle.
    """
    keys = [row[_key(table).name] for row in rows]
    first = dict(zip(reversed(keys), reversed(rows), strict=True))
    added = _insert_free(connection, table, first)
    return [key in added and row is first[key] for key, row in zip(keys, rows, strict=True)]


def _insert_free(connection: Connection, table: Table, asked: Mapping[Value, Row]) -> set[Value]:
    free = sorted(asked, key=str)
    if connection.dialect.name != "postgresql":
        # SQLite's triggers refuse a taken key before any ON CONFLICT is looked at, since OR REPLACE
        # would pass them by; there is one writer, so nobody comes between the two statements.
        taken = set(connection.execute(_taken(table), {"keys": padded(free)}).scalars())
        free = [name for name in free if name not in taken]
        if not free:
            return set()
    parameters = {"rows": json.dumps([dict(asked[name]) for name in free])}
    added = connection.execute(_unless_there(connection.dialect.name, table), parameters)
    return set(added.scalars())


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> list[int]:
    """Add rows that the database numbers; their numbers, in order."""
    parameters = {"rows": json.dumps([dict(row) for row in rows])}
    added = connection.execute(_numbered(connection.dialect.name, table), parameters)
    return sorted(added.scalars())


def _key(table: Table) -> Column[Any]:
    return next(iter(table.primary_key.columns))


@cache
def _taken(table: Table) -> Select[Any]:
    key = _key(table)
    return select(key).where(key.in_(bindparam("keys", expanding=True)))


@cache
def _unless_there(dialect: str, table: Table) -> ReturningInsert[Any]:
    adding = _from_json(dialect, table)
    if isinstance(adding, postgresql.Insert):
        adding = adding.on_conflict_do_nothing()
    return adding.returning(_key(table))


@cache
def _numbered(dialect: str, table: Table) -> ReturningInsert[int]:
    return _from_json(dialect, table).returning(_key(table))


_ROWS: Final = bindparam("rows", type_=Text)


def _from_json(dialect: str, table: Table) -> Insert:
    columns = [each for each in table.columns if each.identity is None]
    names = [each.name for each in columns]
    if dialect == "postgresql":
        given = func.json_to_recordset(cast(_ROWS, JSON)).table_valued(
            *(column(each.name, _json_type(each)) for each in columns)
        )
        rows = select(*given.render_derived(name="given", with_types=True).c)
        return postgresql.insert(table).from_select(names, rows)
    given = func.json_each(_ROWS).table_valued("key", "value", name="given")
    values = (func.json_extract(given.c.value, literal_column(f"'$.{name}'")) for name in names)
    return insert(table).from_select(names, select(*values).select_from(given))


def _json_type(of: Column[object]) -> BigInteger | Boolean | Text:
    if isinstance(of.type, Boolean):
        return Boolean()
    return BigInteger() if isinstance(of.type, Integer) else Text()
