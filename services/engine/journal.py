"""The engine's database: rows of tables, who sits where, how far each sink was told."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, delete, func, select, update

from okey_runtime.database import Database, Isolation
from services.engine.accepted import AcceptedRow
from services.engine.appending import Append, Verdict, append_batch
from services.engine.archive import StoredRow, stored_rows
from services.engine.players import NOWHERE
from services.engine.record import Row, decode_events
from services.engine.schema import cursors, journal, members, players, seated, snapshots, tables
from services.engine.set_based import Values, put

# The primary key keeps two owners apart, so nothing stronger is needed.
_WRITES = Isolation.READ_COMMITTED


@dataclass(frozen=True, slots=True)
class Registered:
    """A table as the registry knows it."""

    table_id: str
    created_ms: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Unretired:
    """A table with something left to do, and when its next clock rings: 0 for no clock, None where
    only its rows say so.
    """

    table_id: str
    deadline_ms: int | None


_UNRETIRED: Final = (
    select(
        tables.c.table_id,
        select(journal.c.deadline_ms)
        .where(journal.c.table_id == tables.c.table_id)
        .order_by(journal.c.seq.desc())
        .limit(1)
        .scalar_subquery()
        .label("deadline_ms"),
    )
    .where(~tables.c.is_retired)
    .order_by(tables.c.table_id)
)


class Journal:
    """All methods raise ``DatabaseAway`` (a write may then have taken effect) and
    ``DatabaseBusy``.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, batch: Sequence[Append]) -> list[Verdict]:
        """Write rows of several tables in one transaction; one verdict each, in order."""
        return await self._database.transact(lambda c: append_batch(c, batch), _WRITES)

    async def rows(self, table_id: str, after: int = 0) -> list[Row]:
        """The table's rows after the given one, oldest first; none where there is no such table.

        Raises ``UndecodableMessage`` for a row that this version cannot read.
        """
        stored = await self.stored_rows(table_id, after)
        return [
            Row(row.seq, row.at_ms, decode_events(row.payload), row.request, row.payload)
            for row in stored
        ]

    async def stored_rows(self, table_id: str, after: int = 0) -> list[StoredRow]:
        """The same rows, their events not decoded; an archived table's too."""
        return await self._database.read(lambda c: stored_rows(c, table_id, after))

    async def requests(self, table_id: str, after: int, upto: int) -> list[AcceptedRow]:
        """The rows in this span that somebody asked for under an id, their events not decoded."""
        stored = await self._database.read(lambda c: stored_rows(c, table_id, after))
        return [
            AcceptedRow(row.request, row.seq, row.payload)
            for row in stored
            if row.request is not None and row.seq <= upto
        ]

    async def unretired(self, after: str, limit: int) -> list[Unretired]:
        """Tables with something left to do, by id, after the given one."""
        query = _UNRETIRED.where(tables.c.table_id > after).limit(limit)
        found = await self._database.read(lambda c: c.execute(query).all())
        return [Unretired(row.table_id, row.deadline_ms) for row in found]

    async def table_ids(self, after: str, limit: int, since_ms: int = 0) -> list[str]:
        """Tables that are not retired or were made since, by id, after the given one; 0 is all."""
        recent = (tables.c.created_ms >= since_ms) | ~tables.c.is_retired
        query = select(tables.c.table_id).where(tables.c.table_id > after, recent)
        page = query.order_by(tables.c.table_id).limit(limit)
        return list(await self._database.read(lambda c: c.execute(page).scalars().all()))

    async def registered(self, table_id: str) -> Registered | None:
        """The table's entry, or None where there is none."""
        found = await self._registered(select(tables).where(tables.c.table_id == table_id))
        return found[0] if found else None

    async def _registered(self, query: Select[Any]) -> list[Registered]:
        found = await self._database.read(lambda c: c.execute(query).all())
        return [Registered(row.table_id, row.created_ms, row.is_closed) for row in found]

    async def seated_at(self, player: str) -> str:
        """The table where the player sits, or empty (W3)."""
        query = select(seated.c.table_id).where(
            seated.c.player == player, seated.c.table_id != NOWHERE
        )
        return await self._database.read(lambda c: c.execute(query).scalar()) or ""

    async def names(self, player_ids: Iterable[str]) -> Mapping[str, str]:
        """Display names by player, without those that have none."""
        query = select(players).where(players.c.player.in_(sorted(player_ids)))
        found = await self._database.read(lambda c: c.execute(query).all())
        return {row.player: row.display_name for row in found}

    async def cursors(self, table_id: str) -> Mapping[str, int]:
        """By sink, the newest row of the table that the sink has answered."""
        query = select(cursors).where(cursors.c.table_id == table_id)
        found = await self._database.read(lambda c: c.execute(query).all())
        return {row.sink: row.seq for row in found}

    async def checkpoint(self, table_id: str, sink: str, seq: int) -> None:
        """Note that the sink has answered the table's rows up to ``seq``."""
        await self._put(cursors, {"table_id": table_id, "sink": sink, "seq": seq})

    async def retire(self, table_id: str) -> None:
        """Note that nothing is left to do for a closed table, so that it needs no snapshot."""
        statement = update(tables).where(tables.c.table_id == table_id).values(is_retired=True)

        def work(connection: Connection) -> None:
            connection.execute(statement)
            connection.execute(delete(snapshots).where(snapshots.c.table_id == table_id))

        await self._database.transact(work, _WRITES)

    async def renew(self, engine: str, address: str, now_ms: int) -> None:
        """Say that the engine was alive at this moment."""
        await self._put(members, {"engine": engine, "address": address, "renewed_ms": now_ms})

    async def _put(self, table: Table, row: Values) -> None:
        await self._database.transact(lambda c: put(c, table, [row]), _WRITES)

    async def last_renewal_ms(self) -> int:
        """When an engine was last known to be alive; 0 where none ever was."""
        query = select(func.max(members.c.renewed_ms))
        return await self._database.read(lambda c: c.execute(query).scalar()) or 0
