"""What operators booked against what they may: the limit, second operators, and requests (M3)."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select

from okey.money.account import Account
from services.wallet.approvals import (
    BY_OPERATORS,
    WINDOW_MS,
    ApprovalAltered,
    State,
    list_approved,
)
from services.wallet.finding import Finding, FindingKind
from services.wallet.schema import approval_limits, approvals, journals, postings, requests

CHANGE_MS: Final = 3_600_000
"""How long a limit counts after a lower one: replicas get their settings one after another."""


@dataclass(slots=True)
class _Alone:
    """What one operator moved on one account without approval within the window."""

    moved: deque[tuple[int, int]] = field(default_factory=deque)

    def add(self, booked_ms: int, chips: int) -> int:
        """The sum after another movement."""
        self.moved.append((booked_ms, chips))
        self.moved = deque(each for each in self.moved if each[0] > booked_ms - WINDOW_MS)
        return sum(chips for _, chips in self.moved)


def keep_limit(connection: Connection, chips: int | None, now_ms: int) -> None:
    """Note since when this limit is in force: journals are judged by the limit of their time."""
    newest = select(approval_limits).order_by(approval_limits.c.limit_no.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    if row is None or row.chips != chips:
        connection.execute(insert(approval_limits).values(chips=chips, since_ms=now_ms))


def audit_operators(connection: Connection) -> Iterator[Finding]:
    """Journals above the limit without approval, and operators' journals that nobody asked for."""
    yield from _not_asked_for(connection)
    limits = connection.execute(
        select(approval_limits).order_by(approval_limits.c.since_ms, approval_limits.c.limit_no)
    ).all()
    approved = set[int]()
    for found in list_approved(connection):
        try:
            found.command()
        except ApprovalAltered:
            subject = f"approval:{found.approval_no}"
            yield Finding(FindingKind.JOURNAL_NOT_APPROVED, subject, 0, found.chips)
        else:
            if found.decided_by not in (None, found.requester):
                approved.add(found.journal_id or 0)
    if not limits:
        return
    alone: dict[tuple[str, Account], _Alone] = {}
    for row in connection.execute(_moved_since(limits[0].since_ms - WINDOW_MS)):
        if row.journal_id in approved and row.is_as_asked:
            continue
        account = Account(row.account)
        before = alone.setdefault((row.actor, account), _Alone())
        moved = before.add(row.booked_ms, abs(row.amount))
        limit = _limit_at(limits, row.booked_ms)
        if limit is not None and moved > limit:
            subject = f"journal:{row.journal_id}"
            yield Finding(FindingKind.JOURNAL_NOT_APPROVED, subject, limit, moved)


def _limit_at(limits: Sequence[Row[Any]], booked_ms: int) -> int | None:
    """The highest limit that was in force shortly before; None for any number of chips."""
    from_ms = booked_ms - CHANGE_MS
    if from_ms < limits[0].since_ms:
        return None
    highest = 0
    for each, after in zip(limits, (*limits[1:], None), strict=True):
        is_over = after is not None and after.since_ms <= from_ms
        if is_over or each.since_ms > booked_ms:
            continue
        if each.chips is None:
            return None
        highest = max(highest, each.chips)
    return highest


def _moved_since(since_ms: int) -> Any:
    """Operators' journals with the player's leg, oldest first, and whether they are what an
    approval says.
    """
    is_as_asked = (
        (approvals.c.state == State.APPROVED)
        & (approvals.c.requester == journals.c.actor)
        & (approvals.c.account == postings.c.account)
        & (approvals.c.chips == postings.c.amount)
        & approvals.c.reverses.is_not_distinct_from(journals.c.reverses)
    )
    return (
        select(
            journals.c.journal_id,
            journals.c.actor,
            journals.c.booked_ms,
            postings.c.account,
            postings.c.amount,
            is_as_asked.label("is_as_asked"),
        )
        .join_from(journals, postings, postings.c.journal_id == journals.c.journal_id)
        .join(approvals, approvals.c.journal_id == journals.c.journal_id, isouter=True)
        .where(
            journals.c.kind.in_(BY_OPERATORS),
            journals.c.booked_ms >= since_ms,
            postings.c.account.like("player:%"),
        )
        .order_by(journals.c.journal_id)
    )


def _not_asked_for(connection: Connection) -> Iterator[Finding]:
    # A join, since nothing is indexed by journal here: a correlated question would read all
    # requests once a journal.
    asked_for = requests.c.journal_id == journals.c.journal_id
    strays = (
        select(journals.c.journal_id)
        .join_from(journals, requests, asked_for, isouter=True)
        .where(journals.c.kind.in_(BY_OPERATORS), requests.c.idempotency_key.is_(None))
        .order_by(journals.c.journal_id)
    )
    for (journal_id,) in connection.execute(strays):
        yield Finding(FindingKind.JOURNAL_WITHOUT_EVENT, f"journal:{journal_id}", 0, 0)
