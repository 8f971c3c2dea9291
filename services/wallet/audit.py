"""The whole ledger checked against itself: a chip made, lost or hidden shows here (M3, M5)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Subquery, func, literal, or_, select

from okey.money.account import Account, escrow_account, kasa_account, pot_account
from services.wallet.approvals_audit import audit_operators
from services.wallet.finding import Finding, FindingKind, Tell, tell_nobody
from services.wallet.schema import accounts, holds, journals, match_seats, matches, postings, tables
from services.wallet.states import HoldState, MatchState

__all__ = ["STEP", "Audit", "Finding", "FindingKind", "audit"]

STEP: Final = "balances"


@dataclass(frozen=True, slots=True)
class Audit:
    """What a check came to; no findings: every chip is accounted for."""

    findings: tuple[Finding, ...]
    journal_count: int
    posting_count: int


def audit(connection: Connection, tell: Tell = tell_nobody) -> Audit:
    """Check everything, on the snapshot that the connection sees."""
    balances = _balances(connection)
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: _whole_ledger(connection),
        lambda: _unbalanced_journals(connection),
        lambda: _accounts(connection),
        lambda: _accounts_without_postings(connection),
        lambda: _escrows(connection, balances),
        lambda: _pots(connection, balances),
        lambda: _closed_kasas(connection, balances),
        lambda: audit_operators(connection),
    )
    findings: list[Finding] = []
    for done, check in enumerate(checks):
        tell(STEP, done, len(checks))
        findings += check()
    tell(STEP, len(checks), len(checks))
    return Audit(
        tuple(findings),
        connection.execute(select(func.count()).select_from(journals)).scalar_one(),
        connection.execute(select(func.count()).select_from(postings)).scalar_one(),
    )


def _balances(connection: Connection) -> dict[Account, int]:
    rows = connection.execute(select(accounts.c.account, accounts.c.balance))
    return {Account(row.account): row.balance for row in rows}


def _whole_ledger(connection: Connection) -> Iterator[Finding]:
    total = connection.execute(select(func.coalesce(func.sum(postings.c.amount), 0))).scalar_one()
    if total:
        yield Finding(FindingKind.LEDGER_UNBALANCED, "ledger", 0, int(total))


def _unbalanced_journals(connection: Connection) -> Iterator[Finding]:
    # Two passes in the order of the primary keys: a join of the two tables takes thrice as long.
    total, legs = func.sum(postings.c.amount), func.count()
    odd = (
        select(postings.c.journal_id, total.label("total"))
        .group_by(postings.c.journal_id)
        .having((total != 0) | (legs < 2))
        .subquery()
    )
    has_any = select(postings.c.account).where(postings.c.journal_id == journals.c.journal_id)
    table_of = select(journals.c.table_id).where(journals.c.journal_id == odd.c.journal_id)
    empty = select(journals.c.journal_id, literal(0), journals.c.table_id).where(~has_any.exists())
    sums = select(odd.c.journal_id, odd.c.total, table_of.scalar_subquery())
    rows = sorted((*connection.execute(sums), *connection.execute(empty)), key=lambda row: row[0])
    for journal_id, found, table_id in rows:
        subject = f"journal:{journal_id}"
        kind = FindingKind.UNBALANCED_JOURNAL
        yield Finding(kind, subject, 0, int(found), table_id or "")


def _accounts(connection: Connection) -> Iterator[Finding]:
    """Balances, versions and running balances, in one pass over the postings."""
    posted = _posted()
    total, count, astray = posted.c.total, posted.c.posting_count, posted.c.astray
    wrong = or_(
        accounts.c.account.is_(None),
        accounts.c.balance != total,
        accounts.c.version != count,
        accounts.c.balance < 0,
        astray > 0,
        posted.c.skipping > 0,
    )
    rows = connection.execute(
        select(posted, accounts.c.balance, accounts.c.version)
        .join_from(posted, accounts, accounts.c.account == posted.c.account, isouter=True)
        .where(wrong)
        .order_by(posted.c.account)
    )
    for row in rows:
        balance, version = row.balance or 0, row.version or 0
        if balance != row.total:
            yield Finding(FindingKind.BALANCE_DIFFERS, row.account, int(row.total), balance)
        if row.skipping or version != row.posting_count:
            yield Finding(FindingKind.VERSION_GAP, row.account, row.posting_count, version)
        if row.astray:
            yield Finding(FindingKind.RUNNING_BALANCE, row.account, 0, row.astray)
        if balance < 0:
            yield Finding(FindingKind.NEGATIVE_BALANCE, row.account, 0, balance)


def _posted() -> Subquery:
    """By account that keeps a balance: sum and count of its postings, and how many do not follow
    from the one before.
    """
    account, version = postings.c.account, postings.c.version
    before = func.lag(postings.c.balance_after, 1, 0).over(partition_by=account, order_by=version)
    number = func.row_number().over(partition_by=account, order_by=version)
    each = (
        select(
            account,
            postings.c.amount,
            (before + postings.c.amount != postings.c.balance_after).label("is_astray"),
            (number != version).label("is_skipping"),
        )
        .where(version.is_not(None))
        .subquery()
    )
    return (
        select(
            each.c.account,
            func.sum(each.c.amount).label("total"),
            func.count().label("posting_count"),
            func.count().filter(each.c.is_astray).label("astray"),
            func.count().filter(each.c.is_skipping).label("skipping"),
        )
        .group_by(each.c.account)
        .subquery()
    )


def _accounts_without_postings(connection: Connection) -> Iterator[Finding]:
    has_any = select(postings.c.account).where(postings.c.account == accounts.c.account).exists()
    moved = (accounts.c.balance != 0) | (accounts.c.version != 0)
    rows = connection.execute(select(accounts).where(moved, ~has_any).order_by(accounts.c.account))
    for row in rows:
        if row.balance:
            yield Finding(FindingKind.BALANCE_DIFFERS, row.account, 0, row.balance)
        if row.version:
            yield Finding(FindingKind.VERSION_GAP, row.account, 0, row.version)


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
