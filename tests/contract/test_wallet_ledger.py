"""What operators and players see of the ledger on every database; an audit misses nothing."""

import asyncio

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from okey.money.account import (
    HOUSE_PENALTY,
    SYSTEM_ISSUANCE,
    parse_account,
)
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from services.wallet import decline, schema
from services.wallet.audit import FindingKind
from services.wallet.statement import PostingView, Span
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE, outcome_of
from tests.contract.wallet_play import VERSION, WELCOME, Play, balance, freeze
from tests.fixtures.ledger import LedgerDatabase

# Operators


async def test_chips_come_from_the_issuance(play: Play) -> None:
    """M3: a welcome grant and an operator's; together with the purse they are zero."""
    await play.grant("A", 500)
    assert await play.purse("A") == WELCOME + 500
    assert await balance(play.wallet, SYSTEM_ISSUANCE) == -WELCOME - 500


async def test_a_grant_is_taken_back_by_a_new_journal_once(play: Play) -> None:
    """M3: history is never edited."""
    granted = await play.grant("A", 500)
    back = await play.reverse(granted.journal_id)
    assert [leg.amount for leg in back.legs] == [-500, 500]
    assert await play.purse("A") == WELCOME
    with pytest.raises(decline.JournalReversed):
        await play.reverse(granted.journal_id)


async def test_two_who_take_a_grant_back_at_once(play: Play) -> None:
    """M5: one of them is declined."""
    granted = await play.grant("A", 500)
    answers = await asyncio.gather(
        *(outcome_of(play.reverse(granted.journal_id)) for _ in range(4))
    )
    assert sorted(answers) == ["JOURNAL_REVERSED"] * 3 + ["OK"]


async def test_chips_that_are_gone_cannot_be_taken_back(play: Play) -> None:
    """M3: not below zero."""
    granted = await play.grant("A", 500)
    play.stake = WELCOME + 100
    await play.hold(0, "A")
    with pytest.raises(decline.InsufficientFunds):
        await play.reverse(granted.journal_id)


async def test_a_penalty_can_be_taken_back(play: Play) -> None:
    """M9: by an operator."""
    await play.seat_and_start("AB")
    await play.reverse((await play.forfeit(0)).journal_id)
    assert await play.purse("A") == WELCOME - 100
    assert await balance(play.wallet, HOUSE_PENALTY) == 0


async def test_stakes_and_payouts_are_not_reversed_behind_their_states(play: Play) -> None:
    """M5: a hold is voided, a match is voided; a reversal is never reversed."""
    held = await play.hold(0, "A")
    with pytest.raises(decline.JournalNotReversible, match="hold"):
        await play.reverse(held.journal_id)
    back = await play.reverse((await play.grant("A", 5)).journal_id)
    with pytest.raises(decline.JournalNotReversible):
        await play.reverse(back.journal_id)
    with pytest.raises(decline.JournalUnknown):
        await play.reverse(999_999)


async def test_a_frozen_account_receives_but_gives_nothing(play: Play, database: Database) -> None:
    """M3, M9: a penalty becomes shortfall; a payout and a refund still come."""
    await play.seat_and_start("AB")
    await freeze(database, "A")
    with pytest.raises(decline.AccountFrozen):
        await Play(play.wallet, table_id="f" * 26).hold(0, "A")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall, cost.journal_id) == (0, 50, None)
    await play.void()
    assert await play.purse("A") == WELCOME


# Reading


async def test_an_account_that_was_never_used_is_not_found(wallet: Wallet) -> None:
    """M3: asking about a pot does not open one, nor does an operator's question."""
    for name in ("pot:x-1", "player:A"):
        with pytest.raises(decline.AccountNotFound, match=name):
            await wallet.account(parse_account(name), may_open=False)


async def test_postings_come_in_pages_with_running_balances(play: Play) -> None:
    """M5: oldest first, none twice, none left out; for shared accounts as well."""
    for amount in (1, 2, 3, 4):
        await play.grant("A", amount)
    found: list[PostingView] = []
    after = 0
    while True:
        page = await play.wallet.postings(parse_account("player:A"), after, 2)
        found += page.postings
        if page.next_after is None:
            break
        after = page.next_after
    assert [posting.amount for posting in found] == [WELCOME, 1, 2, 3, 4]
    assert [p.balance_after - WELCOME for p in found] == [0, 1, 3, 6, 10]
    assert found[1].reason == "a test"
    assert {posting.rules_version for posting in found} == {VERSION}
    issued = await play.wallet.postings(SYSTEM_ISSUANCE, found[2].journal_id, 10)
    assert [p.balance_after + WELCOME for p in issued.postings] == [-6, -10]


async def test_a_statement_spans_a_time(play: Play, clock: VirtualClock) -> None:
    """M5: opening balance and postings of the span give the closing balance."""
    start_ms = clock.now_ms()
    await play.grant("A", 1)
    clock.advance_ms(1000)
    await play.grant("A", 2)
    clock.advance_ms(1000)
    await play.grant("A", 4)
    account = parse_account("player:A")
    span = Span(start_ms + 1000, start_ms + 2000)
    found = [posting async for posting in play.wallet.statement(account, span)]
    assert [(posting.amount, posting.balance_after - WELCOME) for posting in found] == [(2, 3)]
    issued = [posting async for posting in play.wallet.statement(SYSTEM_ISSUANCE, span)]
    assert [posting.balance_after for posting in issued] == [-WELCOME - 3]
    assert await play.wallet.balance_at(account, start_ms + 1000) == WELCOME + 1
    assert await play.wallet.balance_at(account, start_ms + 2000) == WELCOME + 3


# The schema


async def test_the_migrations_make_the_schema_that_queries_name(database: Database) -> None:
    """M5: no difference between the two."""
    known = schema.metadata.tables

    def differences(connection: Connection) -> list[object]:
        ours = {"include_name": lambda name, kind, _: kind != "table" or name in known}
        context = MigrationContext.configure(connection, opts=ours)
        return list(compare_metadata(context, schema.metadata))

    assert await database.read(differences) == []


# The audit finds


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        (
            "INSERT INTO postings (journal_id, account, amount) VALUES (1, 'house:rake', 5)",
            {FindingKind.UNBALANCED_JOURNAL, FindingKind.LEDGER_UNBALANCED},
        ),
        (
            "UPDATE accounts SET balance = balance + 1 WHERE account = 'player:A'",
            {FindingKind.BALANCE_DIFFERS},
        ),
        (
            "UPDATE accounts SET version = version + 1 WHERE account = 'player:A'",
            {FindingKind.VERSION_GAP},
        ),
        (
            "UPDATE holds SET state = 'voided' WHERE state = 'held'",
            {FindingKind.ESCROW_DIFFERS},
        ),
        (
            "UPDATE matches SET state = 'settled' WHERE state = 'started'",
            {FindingKind.POT_DIFFERS},
        ),
        ("UPDATE tables SET is_closed = (1 = 1)", {FindingKind.KASA_LEFT}),
    ],
)
async def test_the_audit_finds(
    database: LedgerDatabase, statement: str, kinds: set[FindingKind]
) -> None:
    """M3, M5: every kind of wrong is a finding, also one that only a server's owner can do."""
    wallet = Wallet(database, HOUSE, VirtualClock())
    play = Play(wallet)
    await play.seat_and_start("AB")
    play.match_no = 2
    await play.hold(0, "C")
    before = await wallet.audit()
    assert (before.findings, before.journal_count) == ((), 7)
    await database.tamper(statement)
    assert {finding.kind for finding in (await wallet.audit()).findings} == kinds
