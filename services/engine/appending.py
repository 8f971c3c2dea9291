"""Many tables' rows in one transaction, with a verdict for each: one's conflict harms no other."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection, Insert, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from services.engine.record import Request
from services.engine.schema import journal, players, seated, tables


@dataclass(frozen=True, slots=True)
class Append:
    """A row that shall become ``seq`` of its table, with who joins and leaves by it (W3).

    ``names`` are (player, display name); ``is_first`` makes the table, ``is_last`` closes it.
    """

    table_id: str
    seq: int
    at_ms: int
    payload: bytes
    request: Request | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    is_last: bool = False

    @property
    def is_first(self) -> bool:
        """Whether the row makes the table."""
        return self.seq == 1


class Taken(Enum):
    """Another owner has appended this row: the fence."""

    SEQ = "seq"


@dataclass(frozen=True, slots=True)
class SitsElsewhere:
    """A joining player has a seat already (W3)."""

    player: str
    table_id: str


Verdict = Taken | SitsElsewhere | None
"""None: the row went in."""


def append_batch(connection: Connection, batch: Sequence[Append]) -> list[Verdict]:
    """Write every row that can be written; a batch holds at most one row a table."""
    try:
        with connection.begin_nested():
            _write(connection, batch)
    except IntegrityError:
        return [_append_alone(connection, row) for row in batch]
    return [None] * len(batch)


def _append_alone(connection: Connection, row: Append) -> Verdict:
    try:
        with connection.begin_nested():
            _write(connection, [row])
    except IntegrityError:
        verdict = _why_not(connection, row)
        if verdict is None:
            raise
        return verdict
    return None


def _why_not(connection: Connection, row: Append) -> Verdict:
    at_seq = (journal.c.table_id == row.table_id) & (journal.c.seq == row.seq)
    is_same_table = tables.c.table_id == row.table_id
    if connection.execute(select(journal.c.seq).where(at_seq)).first():
        return Taken.SEQ
    if row.is_first and connection.execute(select(tables.c.table_id).where(is_same_table)).first():
        return Taken.SEQ
    sitting = select(seated.c.player, seated.c.table_id).where(seated.c.player.in_(row.joined))
    found = connection.execute(sitting).first()
    return SitsElsewhere(found.player, found.table_id) if found else None


def _write(connection: Connection, batch: Sequence[Append]) -> None:
    opened = [{"table_id": r.table_id, "created_ms": r.at_ms} for r in batch if r.is_first]
    if opened:
        connection.execute(insert(tables), opened)
    connection.execute(insert(journal), [_journal_row(row) for row in batch])
    for row in batch:
        if row.left:
            gone = seated.c.player.in_(row.left) & (seated.c.table_id == row.table_id)
            connection.execute(delete(seated).where(gone))
    joined = [{"player": p, "table_id": r.table_id} for r in batch for p in r.joined]
    if joined:
        connection.execute(insert(seated), joined)
    names = [{"player": p, "display_name": n} for r in batch for p, n in r.names]
    if names:
        connection.execute(upsert(connection, players, ["player"]), names)
    closed = [row.table_id for row in batch if row.is_last]
    if closed:
        connection.execute(
            update(tables).where(tables.c.table_id.in_(closed)).values(is_closed=True)
        )


def _journal_row(row: Append) -> dict[str, object]:
    request = row.request
    return {
        "table_id": row.table_id,
        "seq": row.seq,
        "at_ms": row.at_ms,
        "payload": row.payload,
        "player": request.player if request else None,
        "request_id": request.request_id if request else None,
        "request_hash": request.digest if request else None,
    }


def upsert(connection: Connection, table: Any, key: list[str]) -> Insert:
    """An insert that replaces the row with the same key, in the dialect of the connection."""
    if connection.dialect.name == "sqlite":
        lite = sqlite.insert(table)
        values = {c.name: lite.excluded[c.name] for c in table.columns if c.name not in key}
        return lite.on_conflict_do_update(index_elements=key, set_=values)
    full = postgresql.insert(table)
    values = {c.name: full.excluded[c.name] for c in table.columns if c.name not in key}
    return full.on_conflict_do_update(index_elements=key, set_=values)
