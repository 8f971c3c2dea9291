"""The whole audit, and what follows from it: metrics, frozen accounts, quarantined tables."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sqlalchemy import Connection

from okey.errors import Exhausted, NotFound, Unavailable
from okey.money.account import Account, is_player
from okey_runtime.clock import Clock
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import get_logger
from services.wallet.audit import Audit, audit
from services.wallet.chain import Head
from services.wallet.chain_audit import ChainAudit, audit_chain
from services.wallet.engine_events import Engine, EngineAway, EventAudit, Stray
from services.wallet.finding import Finding, FindingKind, Tell, tell_nobody
from services.wallet.freeze import set_frozen
from services.wallet.metrics import (
    AUDIT_FAILURES,
    AUDIT_FINDINGS,
    AUDIT_LAST_RUN,
    AUDIT_SECONDS,
)
from services.wallet.sealer import SETTLE_MS, Sealer

ACTOR: Final = "wallet-audit"
"""Who freezes accounts when nobody has asked for the audit."""
EVENTS_FOR_MS: Final = 86_400_000
"""How far back the scheduled audits compare the engine's events; who asks for one gets them all."""
_FIRST_AFTER_MS: Final = 60_000
_TOLD: Final = 20

_log = get_logger(__name__)


@dataclass(slots=True)
class FullAudit:
    """What the whole audit came to, and what was done about it."""

    findings: list[Finding] = field(default_factory=list)
    journal_count: int = 0
    posting_count: int = 0
    block_count: int = 0
    sealed_count: int = 0
    event_count: int = 0
    is_engine_compared: bool = False
    has_key: bool = False
    frozen: list[str] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Newest:
    """What the newest audit of this process found, by kind, and when it ended."""

    at_ms: int
    counts: Mapping[FindingKind, int]


class Auditor:
    """Audits one ledger; without keys no chain is checked, without an engine no events."""

    def __init__(
        self, database: Database, clock: Clock, sealer: Sealer | None, engine: Engine | None
    ) -> None:
        self._database = database
        self._clock = clock
        self._sealer = sealer
        self._engine = engine
        self._one_at_a_time = asyncio.Lock()
        self.newest: Newest | None = None

    @property
    def has_key(self) -> bool:
        """Whether journals are sealed, so that their chain can be checked."""
        return self._sealer is not None

    async def run(
        self,
        *,
        anchors: Sequence[Head] = (),
        freeze_as: str | None = None,
        events_since_ms: int = 0,
        tell: Tell = tell_nobody,
    ) -> FullAudit:
        """Check everything, the engine's events from a moment on.

        With ``freeze_as`` freeze players' accounts that have a finding, in that person's name.
        Tables that have one are quarantined.

        ``tell`` may be called from another thread. Raises ``DatabaseAway``, ``DatabaseBusy``.
        """
        async with self._one_at_a_time:
            started_ms = self._clock.monotonic_ms()
            found = await self._check(anchors, events_since_ms, tell)
            if freeze_as is not None:
                found.frozen = await self._freeze(found.findings, freeze_as)
            found.quarantined = await self._quarantine(found.findings)
            AUDIT_SECONDS.set((self._clock.monotonic_ms() - started_ms) / 1000)
        self._publish(found)
        return found

    async def add_findings(self, findings: Sequence[Finding]) -> None:
        """What was found between two audits: counted, logged, its tables quarantined at once."""
        counts = Counter(each.kind for each in findings)
        for kind, count in counts.items():
            AUDIT_FINDINGS.labels(kind).inc(count)
        at_ms = self._clock.now_ms()
        if self.newest is not None:
            at_ms = self.newest.at_ms
            counts.update(self.newest.counts)
        self.newest = Newest(at_ms, counts)
        _tell(findings)
        await self._quarantine(findings)

    async def run_every(self, every_ms: int, *, freezes: bool) -> None:
        """Audit for ever; what cannot be checked now is counted, and checked the next time."""
        await self._sleep(min(every_ms, _FIRST_AFTER_MS))
        while True:
            try:
                since_ms = max(0, self._clock.now_ms() - EVENTS_FOR_MS)
                actor = ACTOR if freezes else None
                await self.run(freeze_as=actor, events_since_ms=since_ms)
            except (Unavailable, Exhausted) as error:
                AUDIT_FAILURES.inc()
                _log.error("audit_failed", error=str(error))
            await self._sleep(every_ms)

    async def _sleep(self, for_ms: int) -> None:
        await self._clock.sleep_until_ms(self._clock.monotonic_ms() + for_ms)

    async def _check(self, anchors: Sequence[Head], since_ms: int, tell: Tell) -> FullAudit:
        known = list(anchors)
        if self._sealer is not None:
            await self._sealer.seal(SETTLE_MS)
            # What this process has signed, the chain must still hold, whoever wrote to it since.
            known += [self._sealer.signed] if self._sealer.signed else []
        events = await self._read_events(since_ms, tell)
        found = FullAudit(has_key=self.has_key)
        ledger, chain, compared = await self._database.read(
            partial(self._on_snapshot, known, events, tell)
        )
        found.findings += [*ledger.findings, *chain.findings]
        found.journal_count, found.posting_count = ledger.journal_count, ledger.posting_count
        found.block_count, found.sealed_count = chain.block_count, chain.sealed_count
        if events is not None and self._engine is not None:
            findings, strays = compared
            found.findings += events.unreadable + findings
            found.event_count = events.event_count
            try:
                found.findings += await events.look_again(self._engine, strays)
                found.is_engine_compared = True
            except EngineAway as error:
                AUDIT_FAILURES.inc()
                _log.error("audit_without_engine", error=str(error))
        return found

    def _on_snapshot(
        self, anchors: list[Head], events: EventAudit | None, tell: Tell, connection: Connection
    ) -> tuple[Audit, ChainAudit, tuple[list[Finding], list[Stray]]]:
        ledger = audit(connection, tell)
        chain = ChainAudit()
        if self._sealer is not None:
            now_ms = self._clock.now_ms()
            chain = audit_chain(connection, self._sealer.keys, anchors, now_ms, tell)
        return ledger, chain, events.compare(connection, tell) if events else ([], [])

    async def _read_events(self, since_ms: int, tell: Tell) -> EventAudit | None:
        if self._engine is None:
            return None
        events = EventAudit(since_ms)
        try:
            await events.read(self._engine, tell)
        except EngineAway as error:
            AUDIT_FAILURES.inc()
            _log.error("audit_without_engine", error=str(error))
            return None
        return events

    async def _freeze(self, findings: Sequence[Finding], actor: str) -> list[str]:
        frozen = []
        for finding in findings:
            account = Account(finding.subject)
            if not is_player(account):
                continue
            change = partial(
                set_frozen,
                account=account,
                frozen=True,
                actor=actor,
                reason=f"audit: {finding.kind}",
                now_ms=self._clock.now_ms(),
            )
            try:
                if await self._database.transact(change, Isolation.READ_COMMITTED):
                    frozen.append(str(account))
            except NotFound as error:
                # Its row was removed: nothing can be taken from it either.
                _log.error("freeze_failed", error=str(error))
        return frozen

    async def _quarantine(self, findings: Sequence[Finding]) -> list[str]:
        quarantined: list[str] = []
        if self._engine is None:
            return quarantined
        for table_id in sorted({finding.table for finding in findings} - {""}):
            kinds = sorted({str(each.kind) for each in findings if each.table == table_id})
            try:
                if await self._engine.quarantine(table_id, f"audit: {', '.join(kinds)}"):
                    quarantined.append(table_id)
            except EngineAway as error:
                _log.error("quarantine_failed", table_id=table_id, error=str(error))
        return quarantined

    def _publish(self, found: FullAudit) -> None:
        counts = Counter(each.kind for each in found.findings)
        self.newest = Newest(self._clock.now_ms(), counts)
        for kind in FindingKind:
            AUDIT_FINDINGS.labels(kind).set(counts[kind])
        AUDIT_LAST_RUN.set(self.newest.at_ms / 1000)
        _tell(found.findings)
        _log.info("audited", findings=len(found.findings), postings=found.posting_count)


def _tell(findings: Sequence[Finding]) -> None:
    for each in findings[:_TOLD]:
        _log.error("audit_finding", kind=each.kind, subject=each.subject, table=each.table)
