"""A finished round in full, and its commitment; what is not finished is shown to nobody (T9).

A row that deals or ends a round says so in the index ``rounds``, so that only that round's rows
are read. An answer never changes, so the newest ones are kept, up to a bound in bytes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from okey.api.engine.v1 import engine_pb2
from okey.table import events as e
from okey.table.hidden import fresh_seed
from okey.table.public import REVEALED
from okey.table.state import TableState
from services.engine.background import leave_failure
from services.engine.errors import NoSuchRound, RoundNotEnded
from services.engine.record import Row
from services.engine.wire import event_message

KEPT_BYTES: Final = 16 << 20
"""How much memory the kept answers may take; one has about 10 kB."""


class RoundKey(NamedTuple):
    """Which round of which table; both numbers count from 1."""

    table_id: str
    match_no: int
    round_no: int


@dataclass(frozen=True, slots=True)
class RoundMark:
    """What the index notes of a row: it deals a round, or ends one.

    ``players`` by seat as the match started, empty for a house seat.
    """

    match_no: int
    round_no: int
    is_end: bool
    match_id: str = ""
    players: tuple[str, ...] = ()
    commitment: bytes = b""


@dataclass(frozen=True, slots=True)
class RoundEntry:
    """A round in the index; ``last_seq`` is None until its end."""

    first_seq: int
    last_seq: int | None
    match_id: str
    players: tuple[str, ...]
    commitment: bytes


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """The rows from the deal to the round's end, with only the events between; ``players`` by seat
    as the match started, empty for a house seat.
    """

    match_id: str
    players: tuple[str, ...]
    commitment: bytes
    rows: tuple[Row, ...]


class RoundStore(Protocol):
    """Where rounds are read; ``Journal`` is the one for production."""

    async def round_entry(self, key: RoundKey) -> RoundEntry | None:
        """The round in the index, or None."""
        ...

    async def rows(self, table_id: str, after: int = 0, last: int | None = None) -> list[Row]:
        """The table's rows after one and up to another."""
        ...


class FinishedRounds:
    """Answers for finished rounds; callers who ask at the same time share one read."""

    def __init__(self, store: RoundStore, kept_bytes: int = KEPT_BYTES) -> None:
        self._store = store
        self._most_bytes = kept_bytes
        self._bytes = 0
        self._kept: OrderedDict[RoundKey, bytes] = OrderedDict()
        self._reading: dict[RoundKey, asyncio.Task[bytes]] = {}

    async def answer(self, key: RoundKey) -> bytes:
        """The round as a serialized ``ListEventsResponse``.

        Raises:
            NoSuchRound: it was not dealt here.
            RoundNotEnded: it is being played.
            DatabaseAway, DatabaseBusy: try again.
        """
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(key))
            task.add_done_callback(leave_failure)
            task.add_done_callback(lambda _: self._reading.pop(key, None))
        return await asyncio.shield(task)

    async def _read(self, key: RoundKey) -> bytes:
        answer = _message(await self._find(key)).SerializeToString()
        self._kept[key] = answer
        self._bytes += len(answer)
        while self._bytes > self._most_bytes:
            self._bytes -= len(self._kept.popitem(last=False)[1])
        return answer

    async def _find(self, key: RoundKey) -> FinishedRound:
        entry = await self._store.round_entry(key)
        if entry is None:
            # Dealt by a version without the index, or never.
            return find_round(await self._store.rows(key.table_id), key.match_no, key.round_no)
        if entry.last_seq is None:
            raise _not_ended(key.match_no, key.round_no)
        rows = await self._store.rows(key.table_id, entry.first_seq - 1, entry.last_seq)
        events = _between(rows, key.match_no, key.round_no)
        return FinishedRound(entry.match_id, entry.players, entry.commitment, events)


def marks_of(
    before: TableState | None, after: TableState, events: Sequence[e.Event]
) -> tuple[RoundMark, ...]:
    """What the index notes of a row with these events."""
    marks: list[RoundMark] = []
    for event in events:
        if isinstance(event, e.RoundDealt) and after.match is not None and after.round is not None:
            match, dealt = after.match, after.round
            marks.append(
                RoundMark(
                    after.match_no,
                    event.round_no,
                    is_end=False,
                    match_id=match.match_id,
                    players=match.players,
                    commitment=dealt.commitment,
                )
            )
        elif isinstance(event, e.RoundEnded) and before is not None:
            marks.append(RoundMark(before.match_no, event.round_no, is_end=True))
    return tuple(marks)


def find_round(rows: Sequence[Row], match_no: int, round_no: int) -> FinishedRound:
    """The round of this number of the match of this number, among all rows of its table.

    Raises:
        NoSuchRound: it was not dealt here.
        RoundNotEnded: it is being played.
    """
    commitment, match_id, is_match = b"", "", False
    players: tuple[str, ...] = ()
    for index, row in enumerate(rows):
        for event in row.events:
            if isinstance(event, e.MatchStarted):
                is_match, match_id = event.match_no == match_no, event.match_id
                players = event.players
            if is_match and isinstance(event, e.RoundDealt) and event.round_no == round_no:
                found = _between(rows[index:], match_no, round_no)
                return FinishedRound(match_id, players, commitment, found)
            commitment = _sealed(event) or commitment
    raise NoSuchRound(f"there is no round {round_no} of match {match_no} at this table")


def _between(rows: Sequence[Row], match_no: int, round_no: int) -> tuple[Row, ...]:
    """The rows from the round's deal, in the first of them, to its end; only the events between.

    Raises ``RoundNotEnded``.
    """
    found: list[Row] = []
    is_begun = False
    for row in rows:
        events: list[e.Event] = []
        for event in row.events:
            is_begun |= isinstance(event, e.RoundDealt) and event.round_no == round_no
            if is_begun:
                events.append(event)
            if isinstance(event, e.MatchVoided) and is_begun:
                raise RoundNotEnded(
                    f"round {round_no} of match {match_no} was voided: the key that it was "
                    "encrypted with is lost, so nobody can show it (M10)"
                )
            if isinstance(event, e.RoundEnded) and is_begun:
                return (*found, Row(row.seq, row.at_ms, tuple(events)))
        found.append(Row(row.seq, row.at_ms, tuple(events)))
    raise _not_ended(match_no, round_no)


def _not_ended(match_no: int, round_no: int) -> RoundNotEnded:
    return RoundNotEnded(
        f"round {round_no} of match {match_no} is being played, or was voided since the key that "
        "it was encrypted with is lost; where it is played, ask at its end"
    )


def _message(found: FinishedRound) -> engine_pb2.ListEventsResponse:
    return engine_pb2.ListEventsResponse(
        match_id=found.match_id,
        commitment=found.commitment,
        players=found.players,
        rows=[
            engine_pb2.RoundRow(
                seq=row.seq,
                at_ms=row.at_ms,
                events=[event_message(event, REVEALED) for event in row.events],
            )
            for row in found.rows
        ],
    )


def _sealed(event: e.Event) -> bytes:
    """The commitment that an event publishes for the next round."""
    sealed = fresh_seed(event)
    return sealed.commitment if sealed is not None else b""
