"""Grants and take-backs above the limit wait here for a second operator (M3).

One operator moves a limited number of chips on one account within 24 h, whatever the number of
calls. What is above is rolled back and kept as a request instead. ::

    REQUESTED ──► APPROVED   booked in the same transaction, under the requester's key
        ├───────► REJECTED   by anybody, also by the requester
        └───────► EXPIRED    by time; found by the next caller

A request is decided once: its row is locked and changed by compare-and-set, and the schema refuses
a second decision, an approval by the requester, and a booking under the key of a request that is
not approved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update
from sqlalchemy.dialects import postgresql

from okey.errors import Forbidden, NotFound, Refused
from okey.money.account import Account, is_player
from okey.money.journal import JournalKind, Leg
from okey_runtime.idempotency import differing
from okey_runtime.logging import AUDIT_LOGGER, get_logger
from services.wallet.books import Books
from services.wallet.command import Command, GrantChips, ReverseJournal, fingerprint
from services.wallet.decline import TransferIdReused
from services.wallet.receipt import Receipt
from services.wallet.schema import approvals, journals, postings
from services.wallet.step import NotTogether

WINDOW_MS: Final = 86_400_000
"""How long what an operator moved without approval counts towards the limit."""
BY_OPERATORS: Final = (JournalKind.GRANT.value, JournalKind.REVERSAL.value)

_log = get_logger(AUDIT_LOGGER)


class State(StrEnum):
    """REQUESTED → APPROVED | REJECTED | EXPIRED."""

    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ApprovalNeeded(Refused):
    """Nothing was booked; the request waits for a second operator. The same key asks again."""

    reason = "APPROVAL_NEEDED"

    def __init__(self, message: str, approval_no: int, expires_ms: int) -> None:
        super().__init__(message)
        self.approval_no = approval_no
        self.expires_ms = expires_ms

    @property
    def metadata(self) -> Mapping[str, str]:
        """The request's number, and until when it waits."""
        return {"approval_id": str(self.approval_no), "expires_at_ms": str(self.expires_ms)}


class ApprovalRejected(Refused):
    """An operator rejected the request; nothing is booked under its key."""

    reason = "APPROVAL_REJECTED"


class ApprovalExpired(Refused):
    """Nobody approved the request in time; nothing is booked under its key."""

    reason = "APPROVAL_EXPIRED"


class ApprovalDecided(Refused):
    """Another operator decided the request before."""

    reason = "APPROVAL_DECIDED"


class ApprovalUnknown(NotFound):
    """There is no request of this number."""

    reason = "APPROVAL_UNKNOWN"


class ApprovalAltered(Refused):
    """The stored request is not the one that was made: somebody wrote past the wallet."""

    reason = "APPROVAL_ALTERED"


class SecondOperatorNeeded(Forbidden):
    """An operator cannot approve its own request."""

    reason = "SECOND_OPERATOR_NEEDED"


class AboveLimit(NotTogether):
    """The command is to be kept as a request, and its work rolled back."""

    def __init__(self, kind: JournalKind, leg: Leg, moved: int) -> None:
        super().__init__(f"{leg.amount} chips on {leg.account} are above the limit")
        self.kind = kind
        self.leg = leg
        self.moved = moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A request as it is now; ``chips`` is what the account gets, negative where it gives."""

    approval_no: int
    key: str
    request_hash: str
    kind: JournalKind
    account: Account
    chips: int
    reverses: int | None
    requester: str
    reason: str
    requested_ms: int
    expires_ms: int
    state: State
    decided_by: str | None
    decided_ms: int | None
    decision_reason: str | None
    journal_id: int | None

    def command(self) -> GrantChips | ReverseJournal:
        """What is booked when it is approved. Raises ``ApprovalAltered``."""
        asked = self.asked()
        if fingerprint(asked) != self.request_hash:
            raise ApprovalAltered(
                f"request {self.approval_no} is not what {self.requester} asked for: see "
                "docs/runbooks/audit-finding.md"
            )
        return asked

    def asked(self) -> GrantChips | ReverseJournal:
        """The request, as the row has it."""
        if self.reverses is not None:
            return ReverseJournal(
                journal_id=self.reverses, actor=self.requester, reason=self.reason
            )
        return GrantChips(
            player_id=self.account.removeprefix("player:"),
            amount=self.chips,
            actor=self.requester,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides which request, and why."""

    approval_no: int
    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class ApprovalPage:
    """Some requests, newest first; ``next_before`` is None on the last page."""

    approvals: Sequence[Approval]
    next_before: int | None


def refuse_undecided(connection: Connection, key: str, command: Command, now_ms: int) -> bool:
    """Whether a request of this key is approved; False where there is none.

    Raises ``ApprovalNeeded``, ``ApprovalRejected``, ``ApprovalExpired``, ``TransferIdReused``.
    """
    row = connection.execute(select(approvals).where(approvals.c.idempotency_key == key)).first()
    if row is None:
        return False
    found = _approval(row, now_ms)
    if found.request_hash != fingerprint(command):
        asked = found.asked()
        same_call = type(asked) is type(command)
        differs = differing(asdict(asked), asdict(command)) if same_call else ("the call",)
        raise TransferIdReused(key, f"approval {found.approval_no}", differs)
    match found.state:
        case State.APPROVED:
            return True
        case State.REQUESTED:
            raise _needed(found)
        case _:
            raise _ended(found)


def require_within_limit(
    books: Books, command: GrantChips | ReverseJournal, booked: Receipt
) -> None:
    """Return if one operator may have booked this alone. Raises ``AboveLimit``.

    The account is locked, so two calls at once do not both count only what was before them.
    """
    limit = books.house.approval_limit_chips
    if limit is None:
        return
    [leg] = [each for each in booked.legs if is_player(each.account)]
    moved = _moved_alone(books, command.actor, leg.account)
    if moved > limit:
        is_grant = isinstance(command, GrantChips)
        kind = JournalKind.GRANT if is_grant else JournalKind.REVERSAL
        raise AboveLimit(kind, leg, moved)


def _moved_alone(books: Books, actor: str, account: Account) -> int:
    """Chips that the operator moved on the account within the window, what is approved left out."""
    approved = select(approvals.c.journal_id).where(approvals.c.journal_id == journals.c.journal_id)
    total = (
        select(func.coalesce(func.sum(func.abs(postings.c.amount)), 0))
        .join_from(postings, journals, journals.c.journal_id == postings.c.journal_id)
        .where(
            postings.c.account == account,
            journals.c.actor == actor,
            journals.c.kind.in_(BY_OPERATORS),
            journals.c.booked_ms > books.now_ms - WINDOW_MS,
            ~approved.exists(),
        )
    )
    return int(books.connection.execute(total).scalar_one())


def keep_request(
    books: Books, key: str, command: GrantChips | ReverseJournal, above: AboveLimit
) -> tuple[ApprovalNeeded, Approval] | None:
    """Keep the command until a second operator decides; None where the key was used meanwhile."""
    row = {
        "idempotency_key": key,
        "request_hash": fingerprint(command),
        "kind": above.kind,
        "account": above.leg.account,
        "chips": above.leg.amount,
        "reverses": command.journal_id if isinstance(command, ReverseJournal) else None,
        "requester": command.actor,
        "reason": command.reason,
        "requested_ms": books.now_ms,
        "expires_ms": books.now_ms + books.house.approval_expires_ms,
        "state": State.REQUESTED,
    }
    connection = books.connection
    if connection.dialect.name == "postgresql":
        adding = postgresql.insert(approvals).on_conflict_do_nothing().values(row)
        added = connection.execute(adding.returning(approvals)).one_or_none()
    else:
        taken = select(approvals.c.approval_no).where(approvals.c.idempotency_key == key)
        if connection.execute(taken).one_or_none() is not None:
            return None
        added = connection.execute(insert(approvals).values(row).returning(approvals)).one()
    if added is None:
        return None
    kept = _approval(added, books.now_ms)
    return _needed(kept), kept


def lock_approval(connection: Connection, approval_no: int, now_ms: int) -> Approval:
    """The request, for this transaction alone. Raises ``ApprovalUnknown``."""
    found = select(approvals).where(approvals.c.approval_no == approval_no).with_for_update()
    row = connection.execute(found).one_or_none()
    if row is None:
        raise ApprovalUnknown(f"there is no request {approval_no}: list them first")
    return _approval(row, now_ms)


def refuse_decided(found: Approval) -> None:
    """Return for a request that waits. Raises ``ApprovalDecided``, ``ApprovalExpired``."""
    if found.state is State.EXPIRED:
        raise _ended(found)
    if found.state is not State.REQUESTED:
        raise ApprovalDecided(
            f"request {found.approval_no} was {found.state} by {found.decided_by}: "
            f"{found.decision_reason}"
        )


def refuse_requester(found: Approval, operator: str) -> None:
    """Return for a second operator. Raises ``SecondOperatorNeeded``."""
    if operator == found.requester:
        raise SecondOperatorNeeded(
            f"{operator} made request {found.approval_no}: another operator must approve it"
        )


def move(
    connection: Connection,
    asked: Decision,
    after: State,
    now_ms: int,
    journal_id: int | None = None,
) -> bool:
    """Make a REQUESTED request be in another state; False where it is decided."""
    waits = (approvals.c.approval_no == asked.approval_no) & (approvals.c.state == State.REQUESTED)
    changed = connection.execute(
        update(approvals)
        .where(waits)
        .values(
            state=after,
            decided_by=asked.operator or None,
            decided_ms=now_ms,
            decision_reason=asked.reason or None,
            journal_id=journal_id,
        )
        .returning(approvals.c.approval_no)
    )
    return changed.one_or_none() is not None


def list_approvals(
    connection: Connection, before: int | None, limit: int, now_ms: int, *, waiting_only: bool
) -> ApprovalPage:
    """The newest requests before that number; ``waiting_only`` leaves out what is decided."""
    wanted: list[ColumnElement[bool]] = []
    if before is not None:
        wanted.append(approvals.c.approval_no < before)
    if waiting_only:
        wanted += [approvals.c.state == State.REQUESTED, approvals.c.expires_ms > now_ms]
    newest = approvals.c.approval_no.desc()
    rows = connection.execute(
        select(approvals).where(*wanted).order_by(newest).limit(limit + 1)
    ).all()
    found = [_approval(row, now_ms) for row in rows[:limit]]
    return ApprovalPage(found, found[-1].approval_no if len(rows) > limit else None)


def list_approved(connection: Connection) -> list[Approval]:
    """Every request that was booked, oldest first."""
    booked = select(approvals).where(approvals.c.state == State.APPROVED)
    rows = connection.execute(booked.order_by(approvals.c.approval_no))
    return [_approval(row, 0) for row in rows]


def note(event: str, found: Approval, operator: str) -> None:
    """A line of the operators' trail that names both operators and what is moved."""
    _log.info(
        event,
        approval_id=found.approval_no,
        requester=found.requester,
        operator=operator,
        kind=str(found.kind),
        account=str(found.account),
        chips=found.chips,
        journal_id=found.journal_id,
    )


def _needed(found: Approval) -> ApprovalNeeded:
    number = found.approval_no
    return ApprovalNeeded(
        f"{abs(found.chips)} chips on {found.account} are more than one operator may move alone "
        f"within 24 h: request {number} waits for another operator (okeyctl wallet approvals "
        f"approve {number}); the same key {found.key!r} then gets the receipt",
        number,
        found.expires_ms,
    )


def _ended(found: Approval) -> Refused:
    if found.state is State.REJECTED:
        return ApprovalRejected(
            f"request {found.approval_no} was rejected by {found.decided_by}: "
            f"{found.decision_reason}; a new try needs a new key"
        )
    return ApprovalExpired(
        f"request {found.approval_no} was not approved in time: a new try needs a new key"
    )


def _approval(row: Row[tuple[object, ...]], now_ms: int) -> Approval:
    state = State(row.state)
    if state is State.REQUESTED and row.expires_ms <= now_ms:
        state = State.EXPIRED
    return Approval(
        approval_no=row.approval_no,
        key=row.idempotency_key,
        request_hash=row.request_hash,
        kind=JournalKind(row.kind),
        account=Account(row.account),
        chips=row.chips,
        reverses=row.reverses,
        requester=row.requester,
        reason=row.reason,
        requested_ms=row.requested_ms,
        expires_ms=row.expires_ms,
        state=state,
        decided_by=row.decided_by,
        decided_ms=row.decided_ms,
        decision_reason=row.decision_reason,
        journal_id=row.journal_id,
    )
