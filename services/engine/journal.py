"""The engine's database: rows of tables, who sits where, how far each sink was told."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Select,
    String,
    column,
    delete,
    select,
    tuple_,
    update,
    values,
)

from okey_runtime import failpoints
from okey_runtime.database import Database, Isolation
from services.engine.appending import Append, Verdict, append_batch
from services.engine.archive import StoredRow, stored_rows
from services.engine.finished_round import RoundEntry, RoundKey
from services.engine.players import refuse_closed
from services.engine.record import EventKinds, Row
from services.engine.schema import cursors, journal, players, rounds, seated, snapshots, tables
from services.engine.seals import Seals
from services.engine.set_based import put_newer
from services.engine.shards import id_ranges
from services.engine.stored_tables import StoredTable, read_tables

# The primary key keeps two owners apart, so nothing stronger is needed.
_WRITES = Isolation.READ_COMMITTED
_PAGE: Final = 1_000


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

    def __init__(
        self,
        database: Database,
        engine: str = "",
        kinds: EventKinds | None = None,
        seals: Seals | None = None,
    ) -> None:
        """``engine`` is who appends: new tables of shards that another one owns are refused."""
        self.seals: Final = seals or Seals()
        self._database = database
        self._engine = engine
        self._kinds = kinds or EventKinds()

    async def append(self, batch: Sequence[Append]) -> list[Verdict]:
        """Write rows of several tables in one transaction; one verdict each, in order."""
        failpoints.hit("engine.decided", batch)
        return await self._database.transact(
            lambda c: append_batch(c, batch, self._engine), _WRITES
        )

    async def rows(self, table_id: str, after: int = 0, last: int | None = None) -> list[Row]:
        """The table's rows after the given one and up to ``last``, oldest first; none where there
        is no such table.

        What nobody may know yet is there where its key is. Raises ``UndecodableMessage`` for a row
        that this version cannot read.
        """
        stored = await self.stored_rows(table_id, after, last)
        return self.decoded(self.seals.opened(table_id, stored).rows)

    async def round_entry(self, key: RoundKey) -> RoundEntry | None:
        """The round in the index; None where it was not dealt, or by a version without index."""
        wanted = tuple_(rounds.c.table_id, rounds.c.match_no, rounds.c.round_no) == tuple_(*key)
        row = await self._database.read(lambda c: c.execute(select(rounds).where(wanted)).first())
        if row is None:
            return None
        players = tuple(row.players.split(","))
        return RoundEntry(row.first_seq, row.last_seq, row.match_id, players, row.commitment)

    def decoded(self, stored: Iterable[StoredRow]) -> list[Row]:
        """The rows with their events; raises ``UndecodableMessage``."""
        return [
            Row(row.seq, row.at_ms, self._kinds.decode(row.payload), row.request, row.payload)
            for row in stored
        ]

    async def stored_rows(
        self, table_id: str, after: int = 0, last: int | None = None
    ) -> list[StoredRow]:
        """The same rows as they are stored: encrypted in part, not decoded; an archived table's
        too.
        """
        return await self._database.read(lambda c: stored_rows(c, table_id, after, last))

    async def stored_tables(self, table_ids: Collection[str]) -> Mapping[str, StoredTable]:
        """What is needed to load each of these tables, on one snapshot of the database."""
        return await self._database.read(lambda c: read_tables(c, table_ids, self.seals))

    async def unretired(self, after: str, limit: int) -> list[Unretired]:
        """Tables with something left to do, by id, after the given one."""
        return await self._page(_UNRETIRED, after, limit)

    async def unretired_in(self, shards: Iterable[int]) -> list[Unretired]:
        """All such tables of these shards."""
        ranges = id_ranges(shards)
        if not ranges:
            return []
        wanted = values(column("start", String), column("end", String), name="wanted")
        spans = wanted.data(ranges).cte("spans")
        is_inside = (tables.c.table_id > spans.c.start) & (tables.c.table_id < spans.c.end)
        query = _UNRETIRED.join(spans, is_inside)
        found: list[Unretired] = []
        page = await self._page(query, "", _PAGE)
        while page:
            found += page
            page = await self._page(query, page[-1].table_id, _PAGE) if len(page) == _PAGE else []
        return found

    async def _page(self, query: Select[Any], after: str, limit: int) -> list[Unretired]:
        page = query.where(tables.c.table_id > after).limit(limit)
        found = await self._database.read(lambda c: c.execute(page).all())
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
        """The table where the player sits, or empty (W3). Raises ``PlayerClosed``."""
        query = select(seated.c.table_id).where(seated.c.player == player)
        table_id = await self._database.read(lambda c: c.execute(query).scalar()) or ""
        refuse_closed(player, table_id)
        return table_id

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
        """Note that the sink has answered the table's rows up to ``seq``; never fewer than before,
        whichever engine noted those.
        """
        row = {"table_id": table_id, "sink": sink, "seq": seq}
        await self._database.transact(lambda c: put_newer(c, cursors, row, cursors.c.seq), _WRITES)

    async def retire(self, table_id: str) -> None:
        """Note that nothing is left to do for a closed table, so that it needs no snapshot."""
        statement = update(tables).where(tables.c.table_id == table_id).values(is_retired=True)

        def work(connection: Connection) -> None:
            connection.execute(statement)
            connection.execute(delete(snapshots).where(snapshots.c.table_id == table_id))

        await self._database.transact(work, _WRITES)
