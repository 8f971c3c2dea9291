"""What the database holds of tables that are to be loaded, many of them in a few statements."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from services.engine.archive import StoredRow, rows_of_many
from services.engine.schema import cursors, snapshots
from services.engine.seals import Seals
from services.engine.snapshots import Snapshot, usable


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table's newest snapshot that can be used, every row that is needed beside it, oldest first
    and not decoded, and the newest row that each sink has answered.
    """

    snapshot: Snapshot | None
    rows: Sequence[StoredRow]
    cursors: Mapping[str, int]


def read_tables(
    connection: Connection, table_ids: Collection[str], seals: Seals
) -> dict[str, StoredTable]:
    """Read these tables, also those that are not there: they have no rows."""
    of_snapshots = select(snapshots).where(snapshots.c.table_id.in_(table_ids))
    usable_ones = (usable(kept, seals) for kept in connection.execute(of_snapshots))
    kept = {each.state.config.table_id: each for each in usable_ones if each is not None}
    after = {table_id: _rows_after(kept.get(table_id)) for table_id in table_ids}
    rows = rows_of_many(connection, after)
    told: dict[str, dict[str, int]] = {table_id: {} for table_id in table_ids}
    for row in connection.execute(select(cursors).where(cursors.c.table_id.in_(table_ids))):
        told[row.table_id][row.sink] = row.seq
    return {t: StoredTable(kept.get(t), rows[t], told[t]) for t in table_ids}


def _rows_after(snapshot: Snapshot | None) -> int:
    """After a snapshot's row, and since the first request that it remembers."""
    return 0 if snapshot is None else min(snapshot.seq - 1, snapshot.requests_after)
