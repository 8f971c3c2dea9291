"""The archive: tables that were closed long ago, each as one compressed piece.

Nothing is lost by it: rows leave the journal in the transaction that puts them here, and whoever
reads a table's rows finds them in either place.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    String,
    column,
    delete,
    func,
    insert,
    select,
    update,
    values,
)

from okey.api.journal.v1 import journal_pb2
from okey_runtime.database import Database, Isolation
from services.engine.record import Request
from services.engine.schema import archive, feed, journal, snapshots, tables


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row of a table, its events as they are stored."""

    seq: int
    at_ms: int
    payload: bytes
    request: Request | None


def stored_rows(
    connection: Connection, table_id: str, after: int = 0, last: int | None = None
) -> list[StoredRow]:
    """A table's rows after the given one and up to ``last``, oldest first, wherever they are."""
    return rows_of_many(connection, {table_id: after}, last)[table_id]


def rows_of_many(
    connection: Connection, after: Mapping[str, int], last: int | None = None
) -> dict[str, list[StoredRow]]:
    """The rows of these tables, after the given one of each and up to ``last``, oldest first,
    wherever they are.
    """
    wanted = values(column("table_id", String), column("after", BigInteger), name="wanted")
    asked = wanted.data(list(after.items())).cte("asked")
    is_wanted = (journal.c.table_id == asked.c.table_id) & (journal.c.seq > asked.c.after)
    query = select(journal).join(asked, is_wanted).order_by(journal.c.table_id, journal.c.seq)
    if last is not None:
        query = query.where(journal.c.seq <= last)
    found: dict[str, list[StoredRow]] = {table_id: [] for table_id in after}
    for row in connection.execute(query):
        found[row.table_id].append(_stored(row))
    missing = [table_id for table_id, rows in found.items() if not rows]
    if missing:
        pieces = select(archive.c.table_id, archive.c.payload)
        for piece in connection.execute(pieces.where(archive.c.table_id.in_(missing))):
            rows = unpack(piece.payload)
            since, until = after[piece.table_id], last or len(rows)
            found[piece.table_id] = [row for row in rows if since < row.seq <= until]
    return found


def _stored(row: Any) -> StoredRow:
    request = None
    if row.request_id:
        # One string a player, however many rows are read.
        request = Request(intern(row.player), row.request_id, row.request_hash)
    return StoredRow(row.seq, row.at_ms, row.payload, request)


def pack(rows: Sequence[StoredRow]) -> bytes:
    """The rows in one piece."""
    packed = journal_pb2.ArchivedTable()
    for row in rows:
        archived = packed.rows.add(seq=row.seq, at_ms=row.at_ms, payload=row.payload)
        if row.request is not None:
            archived.player = row.request.player
            archived.request_id = row.request.request_id
            archived.request_hash = row.request.digest
    return zlib.compress(packed.SerializeToString())


def unpack(payload: bytes) -> list[StoredRow]:
    """The rows of a piece."""
    packed = journal_pb2.ArchivedTable.FromString(zlib.decompress(payload))
    return [
        StoredRow(
            row.seq,
            row.at_ms,
            row.payload,
            Request(row.player, row.request_id, row.request_hash) if row.request_id else None,
        )
        for row in packed.rows
    ]


class Archive:
    """Moves tables; both methods raise ``DatabaseAway`` and ``DatabaseBusy``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, closed_before_ms: int, most: int) -> list[str]:
        """Tables with nothing left to do that were closed before this moment, oldest first."""
        query = (
            select(tables.c.table_id)
            .where(tables.c.is_retired, ~tables.c.is_archived)
            .where(tables.c.closed_ms < closed_before_ms)
            .order_by(tables.c.closed_ms)
            .limit(most)
        )
        return list(await self._database.read(lambda c: c.execute(query).scalars().all()))

    async def move(self, table_id: str, now_ms: int) -> None:
        """Move a table's rows in one transaction."""

        def work(connection: Connection) -> None:
            mark = update(tables).where(tables.c.table_id == table_id, ~tables.c.is_archived)
            if not connection.execute(mark.values(is_archived=True)).rowcount:
                return  # somebody else has moved it meanwhile
            rows = stored_rows(connection, table_id)
            connection.execute(
                insert(archive).values(
                    table_id=table_id,
                    archived_ms=now_ms,
                    row_count=len(rows),
                    payload=pack(rows),
                )
            )
            of_table = journal.c.table_id == table_id
            last = connection.execute(select(func.max(journal.c.position)).where(of_table)).scalar()
            connection.execute(delete(journal).where(of_table))
            connection.execute(delete(snapshots).where(snapshots.c.table_id == table_id))
            # Last, since commits of rows wait for it: who follows all rows is told that some left.
            connection.execute(update(feed).where(feed.c.archived < last).values(archived=last))

        await self._database.transact(work, Isolation.READ_COMMITTED)
