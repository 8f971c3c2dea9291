"""The engine's money events against the wallet's requests and journals, both ways (M5)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Connection, Select, select

from okey.money.journal import JournalKind
from services.wallet.command import Command, fingerprint
from services.wallet.finding import Finding, FindingKind, Tell
from services.wallet.schema import journals, requests

READING: Final = "engine"
COMPARING: Final = "events"

OF_TABLES: Final = tuple(
    kind.value
    for kind in JournalKind
    if kind not in (JournalKind.GRANT, JournalKind.WELCOME, JournalKind.REVERSAL, JournalKind.ERASE)
)
"""Kinds of journals that the engine's money events ask for."""
_TOLD_EVERY: Final = 10_000
_TABLES_AT_ONCE: Final = 500
_KEYS_AT_ONCE: Final = 500


class EngineAway(Exception):
    """The engine cannot be asked now."""


@dataclass(frozen=True, slots=True)
class MoneyEvent:
    """What the engine's journal says the wallet is asked; ``is_told``: and has answered."""

    key: str
    table_id: str
    command: Command
    is_told: bool


@dataclass(frozen=True, slots=True)
class UnreadableTable:
    """A table whose journal the engine cannot read."""

    table_id: str


@dataclass(frozen=True, slots=True)
class _Event:
    key: str
    table_id: str
    request_hash: str
    is_told: bool

    def finding(self, kind: FindingKind) -> Finding:
        """What is wrong with it."""
        return Finding(kind, f"event:{self.key}", 0, 0, self.table_id)


@dataclass(frozen=True, slots=True)
class Stray:
    """A table's journal whose request no event is known for; ``table_id`` its table."""

    journal_id: int
    table_id: str
    key: str


class Engine(Protocol):
    """The engine, as the audit needs it."""

    def money_events(
        self, table_ids: Sequence[str] = (), since_ms: int = 0
    ) -> AsyncIterator[MoneyEvent | UnreadableTable]:
        """Every money event of these tables; where none are named, of all that have something left
        to do or were made since. Raises ``EngineAway``.
        """
        ...

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Make the table stand still; whether it did not before. Raises ``EngineAway``."""
        ...


class EventAudit:
    """Compares in three steps: the engine's events, the ledger's snapshot, a second look.

    The events are read first, so all that is told in them is in the snapshot; journals of the
    snapshot without an event are asked for again, since the engine writes before it asks.
    """

    def __init__(self, since_ms: int = 0) -> None:
        """Only what was booked since, and tables that were made since or still live; 0 is all."""
        self._since_ms = since_ms
        self._events: dict[str, _Event] = {}
        self._unreadable: set[str] = set()

    @property
    def event_count(self) -> int:
        """How many money events were compared."""
        return len(self._events)

    async def read(self, engine: Engine, tell: Tell) -> None:
        """First: read every event of the engine. Raises ``EngineAway``."""
        async for event in engine.money_events(since_ms=self._since_ms):
            self._keep(event)
            if len(self._events) % _TOLD_EVERY == 0:
                tell(READING, len(self._events), 0)
        tell(READING, len(self._events), len(self._events))

    @property
    def unreadable(self) -> list[Finding]:
        """A finding for each table whose journal the engine cannot read."""
        kind = FindingKind.EVENTS_UNREADABLE
        return [Finding(kind, f"table:{each}", 0, 0, each) for each in sorted(self._unreadable)]

    def compare(self, connection: Connection, tell: Tell) -> tuple[list[Finding], list[Stray]]:
        """Second: compare them with the snapshot; also the journals that nothing asks for yet."""
        tell(COMPARING, 0, self.event_count)
        findings, strays = [], []
        answered = set[str]()
        for row in connection.execute(_requests(requests.c.answered_ms >= self._since_ms)):
            event = self._events.get(row.idempotency_key)
            if event is not None:
                answered.add(row.idempotency_key)
                if event.request_hash != row.request_hash:
                    findings.append(event.finding(FindingKind.EVENT_DIFFERS))
            elif row.kind in OF_TABLES:
                strays.append(Stray(row.journal_id, row.table_id or "", row.idempotency_key))
        strays += [
            Stray(row.journal_id, row.table_id or "", "")
            for row in connection.execute(_journals_without_request(self._since_ms))
        ]
        left = [
            event for key, event in self._events.items() if event.is_told and key not in answered
        ]
        # Of a table that is older than the span, some were answered before it.
        for start in range(0, len(left), _KEYS_AT_ONCE):
            findings += _not_booked(connection, left[start : start + _KEYS_AT_ONCE])
        tell(COMPARING, self.event_count, self.event_count)
        return findings, strays

    async def look_again(self, engine: Engine, strays: Sequence[Stray]) -> list[Finding]:
        """Third: what the engine has written meanwhile is no finding. Raises ``EngineAway``."""
        tables = sorted({stray.table_id for stray in strays if stray.table_id})
        for start in range(0, len(tables), _TABLES_AT_ONCE):
            async for event in engine.money_events(tables[start : start + _TABLES_AT_ONCE]):
                self._keep(event)
        return [
            Finding(
                FindingKind.JOURNAL_WITHOUT_EVENT,
                f"journal:{stray.journal_id}",
                0,
                0,
                stray.table_id,
            )
            for stray in strays
            if stray.key not in self._events and stray.table_id not in self._unreadable
        ]

    def _keep(self, event: MoneyEvent | UnreadableTable) -> None:
        if isinstance(event, UnreadableTable):
            self._unreadable.add(event.table_id)
        else:
            self._events[event.key] = _Event(
                event.key, event.table_id, fingerprint(event.command), event.is_told
            )


def _not_booked(connection: Connection, events: Sequence[_Event]) -> list[Finding]:
    keys = requests.c.idempotency_key.in_([event.key for event in events])
    booked = {row.idempotency_key: row.request_hash for row in connection.execute(_requests(keys))}
    return [
        event.finding(
            FindingKind.EVENT_DIFFERS if event.key in booked else FindingKind.EVENT_NOT_BOOKED
        )
        for event in events
        if booked.get(event.key) != event.request_hash
    ]


def _requests(which: ColumnElement[bool]) -> Select[tuple[Any, ...]]:
    of_journal = journals.c.journal_id == requests.c.journal_id
    return (
        select(
            requests.c.idempotency_key,
            requests.c.request_hash,
            requests.c.journal_id,
            journals.c.kind,
            journals.c.table_id,
        )
        .join_from(requests, journals, of_journal, isouter=True)
        .where(which)
    )


def _journals_without_request(since_ms: int) -> Select[tuple[Any, ...]]:
    asked = select(requests.c.journal_id).where(requests.c.journal_id == journals.c.journal_id)
    return select(journals.c.journal_id, journals.c.table_id).where(
        journals.c.kind.in_(OF_TABLES), journals.c.booked_ms >= since_ms, ~asked.exists()
    )
