"""What a second operator decides: book a request exactly as it was made, or reject it."""

from sqlalchemy import Connection

from okey.errors import Refused
from okey_runtime import failpoints
from services.wallet.approvals import (
    Approval,
    ApprovalDecided,
    Decision,
    State,
    lock_approval,
    move,
    refuse_decided,
    refuse_requester,
)
from services.wallet.books import Books
from services.wallet.decline import Declined
from services.wallet.receipt import Receipt, recall, remember
from services.wallet.step import alone
from services.wallet.wallet import operation


def approve(books: Books, asked: Decision) -> tuple[Approval, Receipt] | Refused:
    """Book the request under its own key; the same operator again gets the same receipt.

    An answer that is an error is to be committed, and raised then. Raises a ``Declined``, after
    which the request still waits; ``ApprovalUnknown``, ``ApprovalDecided``, ``ApprovalAltered``,
    ``SecondOperatorNeeded``.
    """
    connection, now_ms = books.connection, books.now_ms
    found = lock_approval(connection, asked.approval_no, now_ms)
    refuse_requester(found, asked.operator)
    if found.state is State.APPROVED and found.decided_by == asked.operator:
        return found, _booked_before(connection, found)
    expired = _expire(connection, found, now_ms)
    if expired is not None:
        return expired
    receipt = alone(connection, _book(books, found, asked))
    return lock_approval(connection, asked.approval_no, now_ms), receipt


def reject(books: Books, asked: Decision) -> Approval | Refused:
    """Reject the request; again it changes nothing. The requester may do so too.

    An answer that is an error is to be committed, and raised then. Raises ``ApprovalUnknown``,
    ``ApprovalDecided``.
    """
    connection, now_ms = books.connection, books.now_ms
    found = lock_approval(connection, asked.approval_no, now_ms)
    if found.state is State.REJECTED and found.decided_by == asked.operator:
        return found
    expired = _expire(connection, found, now_ms)
    if expired is not None:
        return expired
    move(connection, asked, State.REJECTED, now_ms)
    return lock_approval(connection, asked.approval_no, now_ms)


def _expire(connection: Connection, found: Approval, now_ms: int) -> Refused | None:
    """Keep that nobody approved it in time; None for a request that waits.

    Raises ``ApprovalDecided``.
    """
    try:
        refuse_decided(found)
    except ApprovalDecided:
        raise
    except Refused as error:
        move(connection, Decision(found.approval_no, "", ""), State.EXPIRED, now_ms)
        return error
    return None


async def _book(books: Books, found: Approval, asked: Decision) -> Receipt:
    command = found.command()
    receipt = await operation(books, command)
    failpoints.hit("wallet.approval_booked", command)
    is_moved = move(
        books.connection, asked, State.APPROVED, books.now_ms, journal_id=receipt.journal_id
    )
    if not is_moved or not await remember(found.key, command, receipt, books.now_ms):
        raise ApprovalDecided(
            f"request {found.approval_no} was decided, or its key {found.key!r} used, meanwhile"
        )
    failpoints.hit("wallet.before_commit", command)
    return receipt


def _booked_before(connection: Connection, found: Approval) -> Receipt:
    receipt = recall(connection, found.key, found.command())
    if receipt is None or isinstance(receipt, Declined):
        raise ApprovalDecided(f"request {found.approval_no} was approved, and its receipt is gone")
    return receipt
