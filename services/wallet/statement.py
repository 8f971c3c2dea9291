"""What an account's owner may read: its balance, its postings, page by page."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, func, select

from okey.errors import InvalidInput
from okey.money.account import Account, is_balance_kept
from okey.money.journal import JournalKind
from services.wallet.decline import AccountNotFound
from services.wallet.schema import accounts, journals, postings


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account as it is now; chips."""

    account: Account
    balance: int
    version: int
    frozen: bool
    closed: bool = False


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


class SpanReversed(InvalidInput):
    """A span of time that would end before it begins."""

    reason = "SPAN_REVERSED"


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, [from_ms, until_ms) since the epoch.

    Raises ``SpanReversed`` where the end comes before the start.
    """

    from_ms: int
    until_ms: int

    def __post_init__(self) -> None:
        if self.from_ms > self.until_ms:
            raise SpanReversed(
                f"from_ms {self.from_ms} is after until_ms {self.until_ms}: the span would end "
                "before it begins; exchange them"
            )


EVER: Final = Span(0, 2**62)


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
    return AccountView(account, row.balance, row.version, row.frozen, row.is_closed)


def list_postings(
    connection: Connection, account: Account, after_journal: int, limit: int, span: Span = EVER
) -> Page:
    """The next postings of an account within a span of time.

    An account that keeps a balance numbers its postings in the order of their journals. The shared
    accounts are locked by nobody, so a journal with a smaller number may still be on its way there.
    """
    in_span = (journals.c.booked_ms >= span.from_ms) & (journals.c.booked_ms < span.until_ms)
    rows = connection.execute(
        select(postings, journals)
        .join(journals, journals.c.journal_id == postings.c.journal_id)
        .where(postings.c.account == account, postings.c.journal_id > after_journal, in_span)
        .order_by(postings.c.journal_id)
        .limit(limit + 1)
    ).all()
    running = 0
    if not is_balance_kept(account):
        listed = in_span & (postings.c.journal_id <= after_journal)
        before = journals.c.booked_ms < span.from_ms
        running = _sum(connection, account, before | listed)
    page: list[PostingView] = []
    for row in rows[:limit]:
        running += row.amount
        page.append(_posting(row, running if row.balance_after is None else row.balance_after))
    return Page(tuple(page), page[-1].journal_id if len(rows) > limit else None)


def balance_at(connection: Connection, account: Account, moment_ms: int) -> int:
    """The sum of the account's postings booked before the moment, in chips."""
    return _sum(connection, account, journals.c.booked_ms < moment_ms)


def _sum(connection: Connection, account: Account, which: ColumnElement[bool]) -> int:
    total = connection.execute(
        select(func.coalesce(func.sum(postings.c.amount), 0))
        .join(journals, journals.c.journal_id == postings.c.journal_id)
        .where(postings.c.account == account, which)
    ).scalar_one()
    return int(total)


def _posting(row: Row[*tuple[Any, ...]], balance_after: int) -> PostingView:
    return PostingView(
        journal_id=row.journal_id,
        kind=JournalKind(row.kind),
        amount=row.amount,
        balance_after=balance_after,
        booked_ms=row.booked_ms,
        table_id=row.table_id,
        match_id=row.match_id,
        rules_version=row.rules_version,
        reason=row.reason,
    )
