"""Encrypts at rest what nobody may know while a round runs: seeds, nonces, the deal, draws (T9).

A seed is encrypted with a key of the engines' file. All else of its round is encrypted with a key
that follows from the seed: the seed is published when the round is over, and so the round can be
read from then on without any key. What is lost with the file is running rounds, and nothing else.
ADR 18 says why.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from okey.api.journal.v1 import journal_pb2
from okey.errors import Unavailable
from okey.table.events import Event, RoundDealt, TileDrawn
from okey.table.hidden import fresh_seed, hides, masked
from okey.table.state import TableState
from okey_runtime.logging import get_logger
from okey_runtime.seal_keys import SealKey, SealKeysFile, key_number
from services.engine.archive import StoredRow
from services.engine.metrics import LOST_SEEDS, UNSEALED_MEMBERS
from services.engine.record import Row, encode_event, encode_events
from services.engine.seal_boxes import (
    SealBroken,
    commitment,
    key_for,
    put_in_box,
    round_of,
    take_out,
)
from services.engine.shards import Member

_SEED_CASES: Final = ("table_opened", "round_ended", "match_voided", "table_taken_over")
_SNAPSHOT_MARK: Final = b"\x01"
_KEY_ID_BYTES: Final = 8
_MANY_DRAWS: Final = 2_048
"""More than there are different draws."""

_log = get_logger(__name__)


class SealKeyElsewhere(Unavailable):
    """Another engine has the key that this one lacks; try again when its file has it too."""

    reason = "SEAL_KEY_ELSEWHERE"


@dataclass(frozen=True, slots=True)
class Opened:
    """A table's rows, opened as far as could be.

    ``missing`` says which key was not there, by round; ``key_id`` is the newest that was used.
    """

    rows: list[StoredRow]
    missing: dict[bytes, str] = field(default_factory=dict)
    key_id: str = ""


class Seals:
    """What this engine encrypts with, and can decrypt; without a file, neither."""

    def __init__(self, file: SealKeysFile | None = None) -> None:
        self._file = file
        self._members: Collection[frozenset[int]] = ()
        self._has_begun = False
        self._without: tuple[str, ...] = ()
        self.current: SealKey | None = None
        """What new seeds are encrypted with; None: nothing is, since an engine could not read it
        and nothing was encrypted before.
        """

    @property
    def newest_id(self) -> str:
        """The newest key of the file, whether or not every engine has it by now; "" for none."""
        return self._file.keys[0].key_id if self._file is not None else ""

    @property
    def numbers(self) -> frozenset[int]:
        """The keys that this engine has, as it tells the others."""
        keys = self._file.keys if self._file is not None else ()
        return frozenset(key_number(key.key_id) for key in keys)

    def follow(self, living: Iterable[Member]) -> None:
        """These engines live: the newest key that all of them have is the current one.

        One without any key is of a release that cannot read what is encrypted. Until all have had
        keys, or something encrypted was read, nothing is encrypted for its sake. From then on it
        does not count: a row of the database must not turn encryption off.
        """
        if self._file is None:
            return
        self._file.reload_if_changed()
        keys = {
            member.engine: frozenset(n for n in member.events if n >= key_number("0"))
            for member in living
        }
        self._members = tuple(keys.values())
        self._has_begun |= bool(keys) and all(self._members)
        self._choose()
        self._tell(tuple(sorted(engine for engine, numbers in keys.items() if not numbers)))

    def _choose(self) -> None:
        if self._file is None:
            return
        known = self.current
        if self._has_begun or all(self._members):
            common = (
                key
                for key in self._file.keys
                if all(key_number(key.key_id) in numbers for numbers in self._members if numbers)
            )
            self.current = next(common, self._file.keys[0])
        else:
            self.current = None
        if known != self.current:
            key_id = self.current.key_id if self.current is not None else ""
            _log.info("seal_key_chosen", key_id=key_id)

    def _tell(self, without: tuple[str, ...]) -> None:
        UNSEALED_MEMBERS.set(len(without))
        if without and without != self._without:
            _log.error("members_without_seal_keys", engines=without, encrypts=self._has_begun)
        self._without = without

    def _begin(self) -> None:
        """Something encrypted was read: what is written from now on is encrypted too."""
        if not self._has_begun:
            self._has_begun = True
            self._choose()

    def key(self, key_id: str) -> SealKey | None:
        """The key of that id, if the file has it."""
        return self._file.find(key_id) if self._file is not None else None

    def is_elsewhere(self, key_id: str) -> bool:
        """Whether an engine that lives has a key."""
        number = key_number(key_id)
        return any(number in numbers for numbers in self._members)

    def judge(self, state: TableState, missing: Mapping[bytes, str]) -> None:
        """Say so where the seed of a table that was read cannot be known: its key is lost.

        The take-over that follows voids the match of a running round, or seals another seed. Raises
        ``SealKeyElsewhere`` where nothing is lost, because another engine has the key.
        """
        of_round = _lost_round(state)
        if of_round is None:
            return
        key_id = missing.get(of_round, "")
        table_id = state.config.table_id
        if key_id and self.is_elsewhere(key_id):
            raise SealKeyElsewhere(
                f"the seed of table {table_id} is encrypted with key {key_id}: another engine "
                "has it, the file of this one (OKEY_SEAL_KEYS_FILE) not; bring that up to date"
            )
        outcome = "MATCH_VOIDED" if state.round is not None else "SEED_REPLACED"
        LOST_SEEDS.labels(outcome).inc()
        _log.error("seal_key_lost", table_id=table_id, key_id=key_id, outcome=outcome)

    # Rows -----------------------------------------------------------------------------------------

    def opened(
        self, table_id: str, rows: Sequence[StoredRow], seeds: Iterable[bytes] = ()
    ) -> Opened:
        """The rows as they were before they were sealed; ``seeds`` are those that are known.

        What belongs to a seed that cannot be known stays left out. Raises ``SealBroken``.
        """
        records = [journal_pb2.Record.FromString(row.payload) for row in rows]
        if not any(record.sealed for record in records):
            return Opened(list(rows))
        self._begin()
        opening = _Opening(self, table_id, {round_of(commitment(seed)): seed for seed in seeds})
        for record in records:
            opening.learn(record)
        for row, record in zip(rows, records, strict=True):
            opening.unwrap(row.seq, record)
        done = [
            replace(row, payload=opening.open(row.seq, record)) if record.sealed else row
            for row, record in zip(rows, records, strict=True)
        ]
        return Opened(done, opening.missing, opening.key_id)

    # Snapshots ------------------------------------------------------------------------------------

    def seal_snapshot(self, table_id: str, seq: int, content: bytes) -> bytes:
        """A snapshot as it is kept."""
        if self.current is None:
            return content
        box = put_in_box(key_for(self.current.secret, "snapshot", table_id), content, f"{seq}")
        return _SNAPSHOT_MARK + self.current.key_id.encode() + box

    def open_snapshot(self, table_id: str, seq: int, payload: bytes) -> bytes | None:
        """The snapshot again; None where its key is not here. Raises ``SealBroken``."""
        if not payload.startswith(_SNAPSHOT_MARK):
            return payload
        self._begin()
        start = len(_SNAPSHOT_MARK)
        key = self.key(payload[start : start + _KEY_ID_BYTES].decode("ascii", "replace"))
        if key is None:
            return None
        box = payload[start + _KEY_ID_BYTES :]
        return take_out(key_for(key.secret, "snapshot", table_id), box, f"{seq}")


class TableSeal:
    """Seals one table's rows, one after another."""

    def __init__(self, seals: Seals, table_id: str) -> None:
        self._seals = seals
        self._table_id = table_id
        self._seed = b""
        self._round = b""
        self._key: AESGCM | None = None
        self.key_id = ""
        """The key that the newest seed was encrypted with; "" for none."""

    def sealed(self, before: TableState | None, row: Row) -> bytes:
        """The row as it is stored; its events are to follow on that state."""
        current = self._seals.current
        if current is None or not _holds_secrets(row):
            return row.payload
        seed = _seed_in(before)
        parts = []
        for index, event in enumerate(row.events):
            if hides(event):
                parts.append(self._under_round(seed, row.seq, index, event))
            fresh = fresh_seed(event)
            if fresh is not None:
                seed = fresh.seed
            # With the deal the seed is kept again: so the row can be read alone, and needs the
            # newest key only.
            if fresh is not None or isinstance(event, RoundDealt):
                parts.append(self._under(current, row.seq, index, seed))
        kept = b"".join([_masked_payload(event) for event in row.events])
        return kept + journal_pb2.Record(sealed=parts).SerializeToString()

    def _under_round(
        self, seed: bytes, seq: int, index: int, event: Event
    ) -> journal_pb2.SealedPart:
        if seed != self._seed or self._key is None:
            self._seed, self._round = seed, round_of(commitment(seed))
            self._key = key_for(seed, "round", self._table_id)
        box = put_in_box(self._key, encode_event(event), f"{seq} {index}")
        return journal_pb2.SealedPart(event=index, round=self._round, box=box)

    def _under(self, key: SealKey, seq: int, index: int, seed: bytes) -> journal_pb2.SealedPart:
        self.key_id = key.key_id
        box = put_in_box(key_for(key.secret, "seed", self._table_id), seed, f"{seq} {index}")
        return journal_pb2.SealedPart(event=index, key=key.key_id, box=box)


class _Opening:
    """Opens rows of one table, once it has learned the seeds from them."""

    def __init__(self, seals: Seals, table_id: str, seeds: dict[bytes, bytes]) -> None:
        self._seals = seals
        self._table_id = table_id
        self._seeds = seeds
        self._keys: dict[str | bytes, AESGCM | None] = {}
        self.missing: dict[bytes, str] = {}
        self.key_id = ""

    def learn(self, record: journal_pb2.Record) -> None:
        """Take the seeds that stand there in the clear."""
        for stored in record.events:
            for seed in _clear_seeds(stored):
                self._seeds[round_of(commitment(seed))] = seed

    def unwrap(self, seq: int, record: journal_pb2.Record) -> None:
        """Take the seeds that a key of the file opens; those that are known need none."""
        for part in record.sealed:
            if not part.key:
                continue
            self.key_id = part.key
            of_round = self._round(record, part)
            if of_round in self._seeds:
                continue
            key = self._file_key(part.key)
            if key is None:
                self.missing[of_round] = part.key
            else:
                seed = take_out(key, part.box, f"{seq} {part.event}")
                sealed = _sealed_in(record.events[part.event])
                committed = of_round if sealed is None else sealed.commitment
                if not commitment(seed).startswith(committed):
                    raise SealBroken(
                        f"the seed at row and event {seq} {part.event} is not the one that its "
                        "round is committed to"
                    )
                self._seeds[of_round] = seed

    def open(self, seq: int, record: journal_pb2.Record) -> bytes:
        """The row's payload with what could be opened put back."""
        for part in record.sealed:
            stored = record.events[part.event]
            of_round = self._round(record, part)
            if of_round not in self._seeds:
                continue
            if part.round:
                key = self._round_key(of_round)
                stored.ParseFromString(take_out(key, part.box, f"{seq} {part.event}"))
            elif (sealed := _sealed_in(stored)) is not None:
                sealed.seed = self._seeds[of_round]
        record.ClearField("sealed")
        return record.SerializeToString()

    def _round(self, record: journal_pb2.Record, part: journal_pb2.SealedPart) -> bytes:
        """The round whose seed the part holds, or is opened with."""
        if part.round:
            return part.round
        sealed = _sealed_in(record.events[part.event])
        if sealed is not None:
            return round_of(sealed.commitment)
        # A deal's: its other part says which round it is.
        others = (each.round for each in record.sealed if each.event == part.event and each.round)
        return next(others, b"")

    def _file_key(self, key_id: str) -> AESGCM | None:
        if key_id not in self._keys:
            key = self._seals.key(key_id)
            made = None if key is None else key_for(key.secret, "seed", self._table_id)
            self._keys[key_id] = made
        return self._keys[key_id]

    def _round_key(self, of_round: bytes) -> AESGCM:
        key = self._keys.get(of_round)
        if key is None:
            key = self._keys[of_round] = key_for(self._seeds[of_round], "round", self._table_id)
        return key


def _sealed_in(stored: journal_pb2.StoredEvent) -> journal_pb2.SealedSeed | None:
    """The seed that the event seals, if it seals one."""
    case = stored.WhichOneof("event")
    if case is None or case not in _SEED_CASES:
        return None
    event = getattr(stored, case)
    return event.sealed if event.HasField("sealed") else None


def _clear_seeds(stored: journal_pb2.StoredEvent) -> Iterable[bytes]:
    match stored.WhichOneof("event"):
        case "round_ended":
            return filter(None, (stored.round_ended.revealed, stored.round_ended.sealed.seed))
        case "match_voided":
            return filter(None, (stored.match_voided.revealed, stored.match_voided.sealed.seed))
        case "table_opened":
            return filter(None, (stored.table_opened.sealed.seed,))
        case "table_taken_over":
            return filter(None, (stored.table_taken_over.sealed.seed,))
        case _:
            return ()


def _masked_payload(event: Event) -> bytes:
    return _often_masked(event) if type(event) is TileDrawn else encode_events([masked(event)])


@lru_cache(_MANY_DRAWS)
def _often_masked(event: TileDrawn) -> bytes:
    return encode_events([masked(event)])


def _holds_secrets(row: Row) -> bool:
    if row.is_plain:  # as most rows are; only their draws can be hidden
        return any(type(event) is TileDrawn and hides(event) for event in row.events)
    return any(hides(event) or fresh_seed(event) for event in row.events)


def _lost_round(state: TableState) -> bytes | None:
    """The round, or the coming one, whose seed is not known; None where it is."""
    if state.round is not None:
        return None if state.round.seed else round_of(state.round.commitment)
    if state.sealed is not None:
        return None if state.sealed.seed else round_of(state.sealed.commitment)
    return None


def seeds_in(state: TableState) -> tuple[bytes, ...]:
    """The seed that the state holds, if it holds one."""
    return tuple(filter(None, (_seed_in(state),)))


def _seed_in(state: TableState | None) -> bytes:
    if state is None:
        return b""
    if state.round is not None:
        return state.round.seed
    return state.sealed.seed if state.sealed is not None else b""
