"""The whole audit on every database: both ways with the engine, and what follows from a finding."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from okey.money.account import escrow_account, player_account
from okey_runtime.clock import VirtualClock
from services.wallet.auditing import Auditor, FullAudit
from services.wallet.command import CloseTable, Command
from services.wallet.decline import AccountFrozen, AccountNotFound, InsufficientFunds
from services.wallet.engine_events import EngineAway, MoneyEvent, UnreadableTable
from services.wallet.finding import FindingKind
from services.wallet.freeze import AccountNotFreezable
from services.wallet.operations import Operations, Progress
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import TABLE, WELCOME, Play
from tests.fixtures.ledger import LedgerDatabase


class EngineInMemory:
    """An engine that has these events; those of ``late`` come to light at the second look."""

    def __init__(self) -> None:
        self.events: dict[str, MoneyEvent] = {}
        self.late: dict[str, MoneyEvent] = {}
        self.unreadable: list[str] = []
        self.quarantined: dict[str, str] = {}
        self.is_away = False

    def tell(self, key: str, command: Command, *, is_told: bool = True) -> None:
        """Have an event."""
        self.events[key] = MoneyEvent(key, TABLE, command, is_told)

    async def money_events(
        self, table_ids: Sequence[str] = (), since_ms: int = 0
    ) -> AsyncIterator[MoneyEvent | UnreadableTable]:
        """All, or the late ones too."""
        if self.is_away:
            raise EngineAway("nobody answers")
        for event in [*self.events.values(), *(self.late.values() if table_ids else ())]:
            yield event
        for table_id in self.unreadable:
            yield UnreadableTable(table_id)

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Remember it."""
        if self.is_away:
            raise EngineAway("nobody answers")
        is_new = table_id not in self.quarantined
        self.quarantined[table_id] = reason
        return is_new


class Audited:
    """A ledger beside an engine that knows what it was asked."""

    def __init__(self, database: LedgerDatabase) -> None:
        self.database = database
        self.clock = VirtualClock()
        self.engine = EngineInMemory()
        self.auditor = Auditor(database, self.clock, None, self.engine)
        self.operations = Operations(database, HOUSE, self.clock, self.auditor, None)
        self.play = Play(Wallet(database, HOUSE, self.clock))

    async def ask(self, key: str, command: Command) -> None:
        """What the engine journals first and asks then."""
        self.engine.tell(key, command)
        await self.play.ask(command, key)

    async def kinds(self) -> list[FindingKind]:
        """What an audit finds."""
        return [finding.kind for finding in (await self.auditor.run()).findings]

    async def freeze(self, player: str, *, frozen: bool = True) -> bool:
        """As an operator does."""
        account = player_account(player)
        return await self.operations.set_frozen(account, frozen=frozen, actor="op", reason="why")


@pytest.fixture
async def audited(database: LedgerDatabase) -> Audited:
    """A stake held, in both books."""
    audited = Audited(database)
    await audited.ask("k1", audited.play.holding(0, "A"))
    return audited


# Both ways


async def test_events_and_journals_agree(audited: Audited) -> None:
    """M5: also a decline answers an event, and an event that is still to be told is no finding."""
    poor = replace(audited.play.holding(1, "B"), stake=WELCOME + 1)
    audited.engine.tell("k2", poor)
    with pytest.raises(InsufficientFunds):
        await audited.play.ask(poor, "k2")
    audited.engine.tell("k3", CloseTable(table_id=TABLE), is_told=False)
    found = await audited.auditor.run()
    assert (found.findings, found.event_count, found.is_engine_compared) == ([], 3, True)


async def test_an_event_without_journal_or_decline_is_found(audited: Audited) -> None:
    """M5: the engine was told that it is done."""
    audited.engine.tell("k2", CloseTable(table_id=TABLE))
    assert await audited.kinds() == [FindingKind.EVENT_NOT_BOOKED]


async def test_a_journal_without_event_is_found(audited: Audited) -> None:
    """M5: chips of a table moved, and its engine knows nothing of it."""
    await audited.play.hold(1, "B")
    assert await audited.kinds() == [FindingKind.JOURNAL_WITHOUT_EVENT]


async def test_a_journal_without_request_is_found(audited: Audited) -> None:
    """M5: every journal of a table was asked for."""
    await audited.database.tamper("DELETE FROM requests")
    assert sorted(await audited.kinds()) == [
        FindingKind.EVENT_NOT_BOOKED,
        FindingKind.JOURNAL_WITHOUT_EVENT,
    ]


async def test_another_request_than_the_events_is_found(audited: Audited) -> None:
    """M5: same key, other content."""
    audited.engine.tell("k1", audited.play.holding(0, "B"))
    assert await audited.kinds() == [FindingKind.EVENT_DIFFERS]


async def test_an_event_written_during_the_audit_is_no_finding(audited: Audited) -> None:
    """M5: the engine writes before it asks, so a second look finds it."""
    late = audited.play.holding(1, "B")
    audited.engine.late["k2"] = MoneyEvent("k2", TABLE, late, is_told=False)
    await audited.play.ask(late, "k2")
    assert await audited.kinds() == []


async def test_a_span_compares_what_was_booked_in_it(audited: Audited) -> None:
    """M5: events of older tables still have their old answers, older journals are left out."""
    await audited.play.hold(1, "B")
    audited.clock.advance_ms(1_000)
    since_ms = audited.clock.now_ms()
    assert (await audited.auditor.run(events_since_ms=since_ms)).findings == []
    await audited.play.hold(2, "C")
    audited.engine.tell("k9", CloseTable(table_id=TABLE))
    found = await audited.auditor.run(events_since_ms=since_ms)
    assert [finding.kind for finding in found.findings] == [
        FindingKind.EVENT_NOT_BOOKED,
        FindingKind.JOURNAL_WITHOUT_EVENT,
    ]


async def test_grants_have_no_event(audited: Audited) -> None:
    """M3: they are operators'."""
    await audited.play.grant("A", 5)
    assert await audited.kinds() == []


async def test_a_journal_that_the_engine_cannot_read_is_one_finding(audited: Audited) -> None:
    """M5: it says nothing about the wallet's."""
    audited.engine.events.clear()
    audited.engine.unreadable.append(TABLE)
    assert await audited.kinds() == [FindingKind.EVENTS_UNREADABLE]


async def test_an_engine_that_is_away_is_said(audited: Audited) -> None:
    """M5: the rest is audited, and nobody takes it for the whole."""
    audited.engine.is_away = True
    found = await audited.auditor.run()
    assert (found.findings, found.is_engine_compared, found.posting_count) == ([], False, 4)


# What follows


async def test_a_finding_on_a_tables_account_quarantines_the_table(audited: Audited) -> None:
    """M5: and says why."""
    await audited.database.tamper("UPDATE holds SET stake = stake + 1")
    found = await audited.auditor.run()
    assert found.quarantined == [TABLE]
    assert audited.engine.quarantined == {TABLE: "audit: escrow_differs"}
    assert (await audited.auditor.run()).quarantined == []


async def test_a_finding_on_a_player_freezes_where_that_is_asked(audited: Audited) -> None:
    """M5: and no table is stopped for it."""
    await audited.database.tamper("UPDATE accounts SET balance = 5 WHERE account LIKE 'player%'")
    assert (await audited.auditor.run()).frozen == []
    found = await audited.auditor.run(freeze_as="op")
    assert (found.frozen, found.quarantined) == (["player:A"], [])
    view = await audited.play.wallet.account(player_account("A"), may_open=False)
    assert view.frozen
    assert (await audited.auditor.run(freeze_as="op")).frozen == []


async def test_a_removed_account_is_found_and_cannot_be_frozen(audited: Audited) -> None:
    """M5: its postings are still there."""
    await audited.database.tamper("DELETE FROM accounts WHERE account LIKE 'player%'")
    found = await audited.auditor.run(freeze_as="op")
    assert {finding.kind for finding in found.findings} == {
        FindingKind.BALANCE_DIFFERS,
        FindingKind.VERSION_GAP,
    }
    assert found.frozen == []


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        (
            "UPDATE postings SET balance_after = balance_after + 1 WHERE version = 1 "
            "AND account LIKE 'player%'",
            {FindingKind.RUNNING_BALANCE},
        ),
        (
            "UPDATE postings SET version = 7 WHERE version = 2 AND account LIKE 'player%'",
            {FindingKind.VERSION_GAP},
        ),
        (
            "DELETE FROM postings WHERE account LIKE 'escrow%'",
            {
                FindingKind.LEDGER_UNBALANCED,
                FindingKind.UNBALANCED_JOURNAL,
                FindingKind.BALANCE_DIFFERS,
                FindingKind.VERSION_GAP,
            },
        ),
    ],
)
async def test_postings_that_do_not_go_on_are_found(
    audited: Audited, statement: str, kinds: set[FindingKind]
) -> None:
    """M5: every posting follows from the one before."""
    await audited.database.tamper(statement)
    assert set(await audited.kinds()) == kinds


async def test_metrics_tell_of_the_last_audit(audited: Audited) -> None:
    """M5: when it ran, and what it found by kind."""
    await audited.play.hold(1, "B")
    await audited.auditor.run()
    assert _metric("okey_wallet_audit_findings", kind="journal_without_event") == 1
    assert _metric("okey_wallet_audit_findings", kind="escrow_differs") == 0
    last_run = _metric("okey_wallet_audit_last_run_timestamp_seconds")
    assert last_run == audited.clock.now_ms() / 1000


async def test_an_audit_tells_how_far_it_is(audited: Audited) -> None:
    """M5: progress first, then findings, the result last."""
    await audited.play.hold(1, "B")
    told = [message async for message in audited.operations.audit([], None)]
    assert isinstance(told[-1], FullAudit)
    assert told[-2:-1] == told[-1].findings
    steps = {message.step for message in told if isinstance(message, Progress)}
    assert {"balances", "engine", "events"} <= steps


# Freezing


async def test_a_frozen_account_receives_and_nothing_is_taken_from_it(audited: Audited) -> None:
    """M3: until an operator lifts it."""
    assert await audited.freeze("A")
    assert not await audited.freeze("A")
    await audited.play.grant("A", 5)
    await audited.play.void_hold(0)
    assert await audited.play.purse("A") == WELCOME + 5
    with pytest.raises(AccountFrozen):
        await audited.play.hold(0, "A", attempt=2)
    assert await audited.freeze("A", frozen=False)
    await audited.play.hold(0, "A", attempt=3)


async def test_a_frozen_players_penalty_becomes_shortfall(audited: Audited) -> None:
    """M9: nothing is taken, the match goes on."""
    await audited.play.hold(1, "B")
    await audited.play.ask(audited.play.starting(audited.play.hold_id(0), audited.play.hold_id(1)))
    await audited.freeze("A")
    cost = await audited.play.forfeit(0)
    assert (cost.penalty, cost.shortfall, cost.journal_id) == (0, 50, None)


async def test_only_a_players_known_account_is_frozen(audited: Audited) -> None:
    """M3: a typing error opens nothing, and a table's money is not stopped half-way."""
    with pytest.raises(AccountNotFound):
        await audited.freeze("nobody")
    with pytest.raises(AccountNotFreezable):
        await audited.operations.set_frozen(
            escrow_account(TABLE), frozen=True, actor="op", reason="why"
        )


def _metric(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)
