"""A table from its journal: the newest snapshot that can be used, and the rows after it."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from okey.table.evolve import evolve
from okey.table.state import TableState
from okey_runtime.logging import get_logger
from services.engine.accepted import AcceptedRow
from services.engine.actor import Change, TableActor
from services.engine.archive import StoredRow
from services.engine.caught import Caught
from services.engine.gathering import MOST_KEYS, Gathering
from services.engine.journal import Journal
from services.engine.record import Row
from services.engine.seals import Opened, seeds_in
from services.engine.snapshots import Snapshot
from services.engine.stored_tables import StoredTable

_log = get_logger(__name__)


class SnapshotMisfit(Exception):
    """A snapshot is of a row that the journal does not have."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was folded, after which snapshot (0 for none), when the last row was written, how far
    each sink was told, and which keys of seeds were not there, by round.
    """

    snapshot_seq: int
    changes: Sequence[Change]
    last_ms: int
    cursors: Mapping[str, int]
    missing: Mapping[bytes, str]


class Loader:
    """Fills new actors; what many need at about the same time is read together."""

    def __init__(self, journal: Journal, most_at_once: int = MOST_KEYS) -> None:
        """``most_at_once`` tables are read in one transaction."""
        self._journal = journal
        self._stored = Gathering(journal.stored_tables, most_at_once)
        self._names = Gathering(self._all_names)

    async def load(self, actor: TableActor) -> Loaded:
        """Bring a new actor to the table's newest row.

        Raises ``DatabaseAway``, ``DatabaseBusy`` or ``SealKeyElsewhere``, or whatever reading or
        folding the rows does.
        """
        stored = await self._stored.ask(actor.table_id)
        loaded = self._resumed(actor, stored)
        if loaded is None:
            opened = self._opened(actor, await self._all_rows(actor.table_id, stored))
            rows = self._journal.decoded(opened.rows)
            changes = _folded(None, rows)
            loaded = Loaded(0, changes, rows[-1].at_ms, stored.cursors, opened.missing)
        for change in loaded.changes:
            actor.restore(change)
            actor.watchers.keep(change.before, change.row)
        self._journal.seals.judge(actor.table, loaded.missing)
        players = [seat.player for seat in actor.table.seats if seat.is_person]
        names = await asyncio.gather(*map(self._names.ask, players))
        actor.names.update({p: n for p, n in zip(players, names, strict=True) if n})
        return loaded

    async def close(self) -> None:
        """Read no more."""
        await self._stored.close()
        await self._names.close()

    async def _all_rows(self, table_id: str, stored: StoredTable) -> Sequence[StoredRow]:
        if stored.snapshot is None:
            return stored.rows
        return await self._journal.stored_rows(table_id)

    def _opened(
        self, actor: TableActor, rows: Sequence[StoredRow], seeds: Sequence[bytes] = ()
    ) -> Opened:
        opened = self._journal.seals.opened(actor.table_id, rows, seeds)
        actor.seal.key_id = opened.key_id or actor.seal.key_id
        return opened

    def _resumed(self, actor: TableActor, stored: StoredTable) -> Loaded | None:
        """What follows the snapshot; None if none fits, and then the actor is untouched."""
        if stored.snapshot is None:
            return None
        with Caught() as caught:
            return self._resume(actor, stored, stored.snapshot)
        _log.warning("snapshot_does_not_fit", table_id=actor.table_id, error=str(caught.error))
        return None

    def _resume(self, actor: TableActor, stored: StoredTable, snapshot: Snapshot) -> Loaded:
        seq = snapshot.seq
        own = [row for row in stored.rows if row.seq == seq]
        if not own:
            raise SnapshotMisfit(f"there is no row {seq}")
        actor.seal.key_id = snapshot.seal_key
        opened = self._opened(actor, stored.rows, seeds_in(snapshot.state))
        later = self._journal.decoded(row for row in opened.rows if row.seq > seq)
        changes = _folded(snapshot.state, later)
        requests = [
            AcceptedRow(row.request, row.seq, row.payload)
            for row in opened.rows
            if row.request is not None and snapshot.requests_after < row.seq <= seq
        ]
        actor.resume(snapshot, requests)
        return Loaded(seq, changes, stored.rows[-1].at_ms, stored.cursors, opened.missing)

    async def _all_names(self, players: Collection[str]) -> Mapping[str, str]:
        """A name for each; "" where there is none."""
        known = await self._journal.names(players)
        return {player: known.get(player, "") for player in players}


def _folded(state: TableState | None, rows: Sequence[Row]) -> list[Change]:
    changes = []
    for row in rows:
        before = state
        for event in row.events:
            state = evolve(state, event)
        assert state is not None, "a row has events"
        changes.append(Change(before, state, row))
    return changes
