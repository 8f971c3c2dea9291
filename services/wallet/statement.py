"""What an account's owner may read: its balance, its postings, page by page."""

from dataclasses import dataclass

from okey.money.account import Account, is_balance_kept
from okey.money.journal import JournalKind
from sqlalchemy import Connection, func, select

from services.wallet.decline import AccountNotFound
from services.wallet.schema import accounts, journals, postings


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account as it is now; chips."""

    account: Account
    balance: int
    version: int
    frozen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingView:
    """One posting of an account; chips, milliseconds since the epoch."""

    journal_id: int
    kind: JournalKind
    amount: int
    balance_after: int
    booked_ms: int
    table_id: str | None
    match_id: str | None
    rules_version: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Postings, oldest first; ``next_after`` is the journal to go on after, None at the end."""

    postings: tuple[PostingView, ...]
    next_after: int | None


def find_account(connection: Connection, account: Account) -> AccountView:
    """The account. Raises ``AccountNotFound`` for one that was never used."""
    if not is_balance_kept(account):
        count, total = connection.execute(
            select(func.count(), func.coalesce(func.sum(postings.c.amount), 0)).where(
                postings.c.account == account
            )
        ).one()
        return AccountView(account, int(total), count, frozen=False)
    row = connection.execute(select(accounts).where(accounts.c.account == account)).one_or_none()
    if row is None:
        raise AccountNotFound(f"{account} was never used: chips open an account")
    return AccountView(account, row.balance, row.version, row.frozen)


def list_postings(connection: Connection, account: Account, after_journal: int, limit: int) -> Page:
    """The next postings of an account.

    An account that keeps a balance numbers its postings in the order of their journals. The shared
    accounts are locked by nobody, so a journal with a smaller number may still be on its way there.
    """
    rows = connection.execute(
        select(postings, journals)
        .join(journals, journals.c.journal_id == postings.c.journal_id)
        .where(postings.c.account == account, postings.c.journal_id > after_journal)
        .order_by(postings.c.journal_id)
        .limit(limit + 1)
    ).all()
    balance = _sum_until(connection, account, after_journal)
    page: list[PostingView] = []
    for row in rows[:limit]:
        balance += row.amount
        page.append(
            PostingView(
                journal_id=row.journal_id,
                kind=JournalKind(row.kind),
                amount=row.amount,
                balance_after=balance,
                booked_ms=row.booked_ms,
                table_id=row.table_id,
                match_id=row.match_id,
                rules_version=row.rules_version,
                reason=row.reason,
            )
        )
    return Page(tuple(page), page[-1].journal_id if len(rows) > limit else None)


def balance_at(connection: Connection, account: Account, moment_ms: int) -> int:
    """The sum of the account's postings booked before the moment, in chips."""
    total = connection.execute(
        select(func.coalesce(func.sum(postings.c.amount), 0))
        .join(journals, journals.c.journal_id == postings.c.journal_id)
        .where(postings.c.account == account, journals.c.booked_ms < moment_ms)
    ).scalar_one()
    return int(total)


def _sum_until(connection: Connection, account: Account, journal_id: int) -> int:
    if not journal_id:
        return 0
    total = connection.execute(
        select(func.coalesce(func.sum(postings.c.amount), 0)).where(
            postings.c.account == account, postings.c.journal_id <= journal_id
        )
    ).scalar_one()
    return int(total)
