"""A table from its journal: the newest snapshot that can be used, and the rows after it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from okey.errors import Exhausted, Unavailable
from okey.table.evolve import evolve
from okey.table.state import TableState
from okey_runtime.logging import get_logger
from services.engine.actor import Change, TableActor
from services.engine.journal import Journal
from services.engine.record import Row
from services.engine.snapshots import Snapshot, Snapshots

_log = get_logger(__name__)


class SnapshotMisfit(Exception):
    """A snapshot is of a row that the journal does not have."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was folded, after which snapshot (0 for none), and when the last row was written."""

    snapshot_seq: int
    changes: Sequence[Change]
    last_ms: int


class Loader:
    """Fills new actors."""

    def __init__(self, journal: Journal, snapshots: Snapshots) -> None:
        self._journal = journal
        self._snapshots = snapshots

    async def load(self, actor: TableActor) -> Loaded:
        """Bring a new actor to the table's newest row.

        Raises ``DatabaseAway`` or ``DatabaseBusy``, or whatever reading or folding the rows does.
        """
        loaded = await self._resumed(actor)
        if loaded is None:
            rows = await self._journal.rows(actor.table_id)
            loaded = Loaded(0, _folded(None, rows), rows[-1].at_ms)
        for change in loaded.changes:
            actor.restore(change)
            actor.watchers.keep(change.before, change.row)
        players = {seat.player for seat in actor.table.seats if seat.is_person}
        actor.names.update(await self._journal.names(players))
        return loaded

    async def _resumed(self, actor: TableActor) -> Loaded | None:
        """What follows a snapshot; None where there is none of use, and the actor is untouched."""
        snapshot = await self._snapshots.newest(actor.table_id)
        if snapshot is None:
            return None
        [loaded] = await asyncio.gather(self._resume(actor, snapshot), return_exceptions=True)
        if isinstance(loaded, Unavailable | Exhausted):
            raise loaded
        if isinstance(loaded, BaseException):
            _log.warning("snapshot_does_not_fit", table_id=actor.table_id, error=str(loaded))
            return None
        return loaded

    async def _resume(self, actor: TableActor, snapshot: Snapshot) -> Loaded:
        table_id, seq = actor.table_id, snapshot.seq
        rows = await self._journal.rows(table_id, after=seq - 1)
        if not rows or rows[0].seq != seq:
            raise SnapshotMisfit(f"there is no row {seq}")
        changes = _folded(snapshot.state, rows[1:])
        requests = await self._journal.requests(table_id, snapshot.requests_after, seq)
        actor.resume(snapshot, requests)
        return Loaded(seq, changes, rows[-1].at_ms)


def _folded(state: TableState | None, rows: Sequence[Row]) -> list[Change]:
    changes = []
    for row in rows:
        before = state
        for event in row.events:
            state = evolve(state, event)
        assert state is not None, "a row has events"
        changes.append(Change(before, state, row))
    return changes
