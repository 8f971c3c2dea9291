"""Snapshots: what replaying a table's rows comes to, kept so that a long one starts quickly.

A snapshot is only a cache. One that is missing, cannot be read, was changed since it was made, or
was made by another version of the code that folds events is passed over; replaying all rows gives
the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b, sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, TypeAdapter, ValidationError
from sqlalchemy import select

from okey.errors import Exhausted, Unavailable
from okey.table.state import TableState
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import get_logger
from services.engine.metrics import SNAPSHOTS
from services.engine.schema import snapshots
from services.engine.seal_boxes import SealBroken
from services.engine.seals import Seals
from services.engine.set_based import put

_FOLDING: Final = ("okey.rules", "okey.money", "okey.table", "services.engine.accepted", __name__)
"""The code that a snapshot is the result of."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table after its row ``seq``, with what its actor remembers besides the state.

    The requests themselves stand in the rows after ``requests_after`` (see ``AcceptedRequests``).
    A snapshot is taken only while no sink waits for a row of the table. ``seal_key`` is the key
    that the newest seed is encrypted with.
    """

    seq: int
    at_ms: int
    created_ms: int
    state: TableState
    requests_after: int
    last_end: int
    verdicts: dict[str, str]
    seal_key: str = ""


# A tuple, because a dataclass cannot be given a configuration from outside.
_CODEC: Final = TypeAdapter(
    tuple[Snapshot], config=ConfigDict(ser_json_bytes="hex", val_json_bytes="hex")
)


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON."""
    return _CODEC.dump_json((snapshot,))


def decode_snapshot(payload: bytes) -> Snapshot:
    """The snapshot again; raises ``ValidationError`` where it is none."""
    return _CODEC.validate_json(payload)[0]


@cache
def folding_version() -> str:
    """A digest over the code that folds events: other code may come to another state."""
    digest = sha256()
    for name in _FOLDING:
        module = import_module(name)
        paths = [Path(folder) for folder in getattr(module, "__path__", [])]
        files = [file for path in paths for file in path.rglob("*.py")]
        for file in sorted(files) or [Path(module.__file__ or "")]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _made_by() -> str:
    return folding_version()[:32]


def _version(payload: bytes) -> str:
    """Which code made the payload, and a digest over it."""
    return _made_by() + blake2b(payload, digest_size=16).hexdigest()


def usable(kept: Any, seals: Seals) -> Snapshot | None:
    """The snapshot of a row of the database; None for one that this version, or with these keys,
    cannot be used.
    """
    if not kept.version.startswith(_made_by()):
        return None
    if kept.version != _version(kept.payload):
        _log.error("snapshot_changed", table_id=kept.table_id, seq=kept.seq)
        return None
    try:
        payload = seals.open_snapshot(kept.table_id, kept.seq, kept.payload)
        if payload is None:
            _log.warning("snapshot_key_missing", table_id=kept.table_id, seq=kept.seq)
            return None
        snapshot = decode_snapshot(payload)
    except SealBroken as error:
        _log.error("snapshot_changed", table_id=kept.table_id, seq=kept.seq, error=str(error))
        return None
    except ValidationError as error:
        _log.warning("snapshot_unreadable", table_id=kept.table_id, errors=error.error_count())
        return None
    is_its_own = snapshot.state.config.table_id == kept.table_id and snapshot.seq == kept.seq
    return snapshot if is_its_own else None


class Snapshots:
    """Where they are kept: the newest of each table."""

    def __init__(self, database: Database, seals: Seals | None = None) -> None:
        self._database = database
        self._seals = seals or Seals()

    async def newest(self, table_id: str) -> Snapshot | None:
        """The table's snapshot, if there is one that this version can use."""
        query = select(snapshots).where(snapshots.c.table_id == table_id)
        found = await self._database.read(lambda c: c.execute(query).first())
        return None if found is None else usable(found, self._seals)

    async def keep(self, made: Sequence[Snapshot]) -> None:
        """Keep these, one a table, in place of older ones."""
        rows = [
            {
                "table_id": snapshot.state.config.table_id,
                "seq": snapshot.seq,
                "version": _version(payload),
                "payload": payload,
            }
            for snapshot, payload in zip(made, map(self._encoded, made), strict=True)
        ]
        await self._database.transact(lambda c: put(c, snapshots, rows), Isolation.READ_COMMITTED)

    def _encoded(self, snapshot: Snapshot) -> bytes:
        table_id = snapshot.state.config.table_id
        return self._seals.seal_snapshot(table_id, snapshot.seq, encode_snapshot(snapshot))


class Snapshotter:
    """Takes a snapshot of a table whenever it has so many new rows and no sink waits for one."""

    def __init__(self, store: Snapshots, every_rows: int, is_told: Callable[[str], bool]) -> None:
        """``is_told`` says whether no sink waits for a row of the table; 0 rows: take none."""
        self._store = store
        self._every_rows = every_rows
        self._is_told = is_told
        self._newest: dict[str, int] = {}
        self._waiting: dict[str, Snapshot] = {}

    def begin(self, table_id: str, seq: int) -> None:
        """The table is loaded; its snapshot, or its beginning, is at this row."""
        self._newest[table_id] = seq

    def is_due(self, table_id: str, seq: int) -> bool:
        """Whether a snapshot shall be taken after this row."""
        count = seq - self._newest.get(table_id, 0)
        return 0 < self._every_rows <= count and self._is_told(table_id)

    def take(self, snapshot: Snapshot) -> None:
        """Let it be kept with the next ``write``."""
        table_id = snapshot.state.config.table_id
        self._newest[table_id] = snapshot.seq
        self._waiting[table_id] = snapshot

    def forget(self, table_id: str) -> None:
        """The table is let go."""
        self._newest.pop(table_id, None)
        self._waiting.pop(table_id, None)

    async def write(self) -> None:
        """Keep what waits; where the database does not take it, nothing is lost but time."""
        made, self._waiting = list(self._waiting.values()), {}
        if not made:
            return
        try:
            await self._store.keep(made)
        except (Unavailable, Exhausted) as error:
            _log.debug("snapshots_not_kept", count=len(made), error=str(error))
        else:
            SNAPSHOTS.inc(len(made))
