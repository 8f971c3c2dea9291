"""Compares young journals with the engine's events, so that a forged booking alerts at once (M5).

The whole audit does so too, every quarter of an hour and with all that it reads. This looks only at
what was booked since the last look: it asks the engine for the events of those tables, and the
ledger for the requests of those events. A journal that is left was asked for by nobody.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from sqlalchemy import Connection, func, select

from okey.errors import Exhausted, Unavailable
from okey_runtime.clock import Clock
from okey_runtime.database import Database
from okey_runtime.outage import Outage
from services.wallet.approvals import BY_OPERATORS
from services.wallet.auditing import Auditor
from services.wallet.command import fingerprint
from services.wallet.engine_events import OF_TABLES, Engine, EngineAway, MoneyEvent
from services.wallet.finding import Finding, FindingKind
from services.wallet.schema import journals, requests
from services.wallet.sealer import SETTLE_MS

_JOURNALS_AT_ONCE: Final = 500
"""Not more tables either than the engine takes in one question."""
_KEYS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class _Young:
    """A journal that was booked since the last look; ``table_id`` is empty for an operator's."""

    journal_id: int
    table_id: str


class EventWatch:
    """Watches one ledger; without an engine only what operators book is compared."""

    def __init__(
        self, database: Database, clock: Clock, engine: Engine | None, auditor: Auditor
    ) -> None:
        self._database = database
        self._clock = clock
        self._engine = engine
        self._auditor = auditor
        self._after: int | None = None

    async def run_every(self, every_ms: int) -> None:
        """Look for ever; what cannot be compared now is compared at the next look."""
        engine = Outage("event_watch_engine", EngineAway)
        while True:
            # The database logs its own outages; audits report an engine that is away for long.
            with suppress(Unavailable, Exhausted, EngineAway), engine.asking():
                await self.look()
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + every_ms)

    async def look(self) -> list[Finding]:
        """What was booked since the last look and asked for by nobody; the first look only begins.

        What was booked before is the whole audit's, which comes a minute after the start. Raises
        ``EngineAway``, ``DatabaseAway``, ``DatabaseBusy``.
        """
        if self._after is None:
            self._after = await self._database.read(_newest)
            return []
        found: list[Finding] = []
        while young := await self._database.read(
            partial(_young, after=self._after, until_ms=self._clock.now_ms() - SETTLE_MS)
        ):
            strays = await self._strays(young)
            if strays:
                await self._auditor.add_findings(strays)
            found += strays
            self._after = young[-1].journal_id
        return found

    async def _strays(self, young: Sequence[_Young]) -> list[Finding]:
        by_operators = [each.journal_id for each in young if not each.table_id]
        known = await self._database.read(partial(_asked_for, journal_ids=by_operators))
        of_tables = {each.table_id for each in young if each.table_id}
        if self._engine is None:
            young = [each for each in young if not each.table_id]
        elif of_tables:
            hashes: dict[str, str] = {}
            unreadable: set[str] = set()
            async for event in self._engine.money_events(sorted(of_tables)):
                if isinstance(event, MoneyEvent):
                    hashes[event.key] = fingerprint(event.command)
                else:
                    unreadable.add(event.table_id)  # the whole audit reports these
            known |= await self._database.read(partial(_journals_of, hashes=hashes))
            young = [each for each in young if each.table_id not in unreadable]
        kind = FindingKind.JOURNAL_WITHOUT_EVENT
        return [
            Finding(kind, f"journal:{each.journal_id}", 0, 0, each.table_id)
            for each in young
            if each.journal_id not in known
        ]


def _newest(connection: Connection) -> int:
    newest = select(func.coalesce(func.max(journals.c.journal_id), 0))
    return int(connection.execute(newest).scalar_one())


def _young(connection: Connection, *, after: int, until_ms: int) -> list[_Young]:
    """The next journals of tables and operators, without those that may be booked right now."""
    rows = connection.execute(
        select(journals.c.journal_id, journals.c.kind, journals.c.table_id, journals.c.booked_ms)
        .where(journals.c.journal_id > after, journals.c.kind.in_((*OF_TABLES, *BY_OPERATORS)))
        .order_by(journals.c.journal_id)
        .limit(_JOURNALS_AT_ONCE)
    )
    return [
        _Young(row.journal_id, (row.table_id or "") if row.kind in OF_TABLES else "")
        for row in takewhile(lambda row: row.booked_ms <= until_ms, rows)
    ]


def _journals_of(connection: Connection, *, hashes: dict[str, str]) -> set[int]:
    """The journals that these events' requests created."""
    known: set[int] = set()
    keys = list(hashes)
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        rows = connection.execute(
            select(
                requests.c.idempotency_key, requests.c.request_hash, requests.c.journal_id
            ).where(requests.c.idempotency_key.in_(keys[start : start + _KEYS_AT_ONCE]))
        )
        known |= {row.journal_id for row in rows if hashes[row.idempotency_key] == row.request_hash}
    return known


def _asked_for(connection: Connection, *, journal_ids: Sequence[int]) -> set[int]:
    """Those of an operator's few journals that a request was answered with; reads all requests."""
    if not journal_ids:
        return set()
    found = select(requests.c.journal_id).where(requests.c.journal_id.in_(journal_ids))
    return set(connection.execute(found).scalars())
