"""The whole ledger checked against itself: a chip made, lost or hidden shows here (M3, M5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from okey.money.account import Account, escrow_account, kasa_account, pot_account
from sqlalchemy import Connection, func, select

from services.wallet.schema import accounts, holds, journals, match_seats, matches, postings, tables
from services.wallet.states import HoldState, MatchState


class FindingKind(StrEnum):
    """What can be wrong; the values are the names in the proto, in lower case."""

    UNBALANCED_JOURNAL = "unbalanced_journal"
    BALANCE_DIFFERS = "balance_differs"
    VERSION_GAP = "version_gap"
    NEGATIVE_BALANCE = "negative_balance"
    ESCROW_DIFFERS = "escrow_differs"
    POT_DIFFERS = "pot_differs"
    KASA_LEFT = "kasa_left"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: whose, what it should be, what it is."""

    kind: FindingKind
    subject: str
    expected: int
    actual: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What a check came to; no findings: every chip is accounted for."""

    findings: tuple[Finding, ...]
    journal_count: int
    posting_count: int


def audit(connection: Connection) -> Audit:
    """Check everything, on the snapshot that the connection sees."""
    balances = _balances(connection)
    findings = [
        *_unbalanced_journals(connection),
        *_accounts(connection),
        *_escrows(connection, balances),
        *_pots(connection, balances),
        *_closed_kasas(connection, balances),
    ]
    return Audit(
        tuple(findings),
        connection.execute(select(func.count()).select_from(journals)).scalar_one(),
        connection.execute(select(func.count()).select_from(postings)).scalar_one(),
    )


def _balances(connection: Connection) -> dict[Account, int]:
    rows = connection.execute(select(accounts.c.account, accounts.c.balance))
    return {Account(row.account): row.balance for row in rows}


def _unbalanced_journals(connection: Connection) -> Iterator[Finding]:
    total, legs = func.coalesce(func.sum(postings.c.amount), 0), func.count(postings.c.account)
    rows = connection.execute(
        select(journals.c.journal_id, total, legs)
        .join_from(journals, postings, postings.c.journal_id == journals.c.journal_id, isouter=True)
        .group_by(journals.c.journal_id)
        .having((total != 0) | (legs < 2))
        .order_by(journals.c.journal_id)
    )
    for journal_id, found, _ in rows:
        yield Finding(FindingKind.UNBALANCED_JOURNAL, f"journal:{journal_id}", 0, int(found))


def _accounts(connection: Connection) -> Iterator[Finding]:
    posted = (
        select(
            postings.c.account,
            func.sum(postings.c.amount).label("total"),
            func.count().label("count"),
            func.max(postings.c.version).label("last"),
        )
        .where(postings.c.version.is_not(None))
        .group_by(postings.c.account)
        .subquery()
    )
    rows = connection.execute(
        select(accounts, posted.c.total, posted.c.count, posted.c.last)
        .join_from(accounts, posted, posted.c.account == accounts.c.account, isouter=True)
        .order_by(accounts.c.account)
    )
    for row in rows:
        total, count, last = int(row.total or 0), row._mapping["count"] or 0, row.last or 0
        if row.balance != total:
            yield Finding(FindingKind.BALANCE_DIFFERS, row.account, total, row.balance)
        if not count == last == row.version:
            yield Finding(FindingKind.VERSION_GAP, row.account, count, row.version)
        if row.balance < 0:
            yield Finding(FindingKind.NEGATIVE_BALANCE, row.account, 0, row.balance)


def _escrows(connection: Connection, balances: dict[Account, int]) -> Iterator[Finding]:
    rows = connection.execute(
        select(holds.c.table_id, func.sum(holds.c.stake))
        .where(holds.c.state == HoldState.HELD)
        .group_by(holds.c.table_id)
    )
    expected = {escrow_account(table_id): int(total) for table_id, total in rows}
    yield from _differing(FindingKind.ESCROW_DIFFERS, "escrow:", expected, balances)


def _pots(connection: Connection, balances: dict[Account, int]) -> Iterator[Finding]:
    seats = (
        select(match_seats.c.match_id, func.count().label("seats"))
        .group_by(match_seats.c.match_id)
        .subquery()
    )
    rows = connection.execute(
        select(matches.c.match_id, matches.c.stake * seats.c.seats - matches.c.kasa_share)
        .join(seats, seats.c.match_id == matches.c.match_id)
        .where(matches.c.state == MatchState.STARTED)
    )
    expected = {pot_account(match_id): int(pot) for match_id, pot in rows}
    yield from _differing(FindingKind.POT_DIFFERS, "pot:", expected, balances)


def _closed_kasas(connection: Connection, balances: dict[Account, int]) -> Iterator[Finding]:
    closed = select(tables.c.table_id).where(tables.c.is_closed.is_(True)).order_by("table_id")
    for table_id in connection.execute(closed).scalars():
        left = balances.get(kasa_account(table_id), 0)
        if left:
            yield Finding(FindingKind.KASA_LEFT, kasa_account(table_id), 0, left)


def _differing(
    kind: FindingKind, prefix: str, expected: dict[Account, int], balances: dict[Account, int]
) -> Iterator[Finding]:
    """Accounts of one kind whose balance is not the expected one; where none is expected, zero."""
    actual = {name: balance for name, balance in balances.items() if name.startswith(prefix)}
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name, 0) != actual.get(name, 0):
            yield Finding(kind, name, expected.get(name, 0), actual.get(name, 0))
