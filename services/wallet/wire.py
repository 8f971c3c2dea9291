"""Protobuf to the wallet's words and back, nothing else."""

from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.errors import InvalidInput
from okey.money.forfeit import ForfeitCause
from okey.money.journal import JournalKind
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.rules.finish import FinishKind
from okey.rules.variant import Mode, Variant
from services.wallet.approvals import Approval
from services.wallet.audit import Audit, Finding
from services.wallet.auditing import FullAudit
from services.wallet.chain import Head
from services.wallet.command import ForfeitSeat, HoldStake, SettleMatch, StartMatch
from services.wallet.operations import Progress
from services.wallet.receipt import Receipt
from services.wallet.statement import PostingView

_FINISHES: Final = {
    common_pb2.FINISH_KIND_NORMAL: FinishKind.NORMAL,
    common_pb2.FINISH_KIND_OKEY: FinishKind.OKEY,
    common_pb2.FINISH_KIND_CIFT: FinishKind.CIFT,
    common_pb2.FINISH_KIND_CIFT_OKEY: FinishKind.CIFT_OKEY,
}


class OutcomeMissing(InvalidInput):
    """A settlement without an outcome."""

    reason = "OUTCOME_MISSING"


class PageTokenBroken(InvalidInput):
    """A page token that no page has given out."""

    reason = "PAGE_TOKEN_BROKEN"


def hold_from(request: wallet_pb2.HoldStakeRequest) -> HoldStake:
    """M1."""
    return HoldStake(
        hold_id=request.hold_id,
        table_id=request.table_id,
        match_id=request.match_id,
        player_id=request.player_id,
        stake=request.stake,
        rules_version=request.rules_version,
    )


def start_from(request: wallet_pb2.StartMatchRequest) -> StartMatch:
    """M2."""
    return StartMatch(
        table_id=request.table_id,
        match_id=request.match_id,
        variant=Variant(request.variant),
        mode=Mode(request.mode),
        stake=request.stake,
        rules_version=request.rules_version,
        holds=tuple(seat.hold_id or None for seat in request.seats),
    )


def settle_from(request: wallet_pb2.SettleMatchRequest) -> SettleMatch:
    """Who and how."""
    return SettleMatch(match_id=request.match_id, outcome=outcome_from(request.outcome))


def forfeit_from(request: wallet_pb2.ForfeitSeatRequest) -> ForfeitSeat:
    """M9, U9; a cause that is not named is giving up."""
    is_abandoned = request.cause == wallet_pb2.FORFEIT_CAUSE_ABANDONED
    cause = ForfeitCause.ABANDONED if is_abandoned else ForfeitCause.GAVE_UP
    return ForfeitSeat(match_id=request.match_id, seat=request.seat, cause=cause)


def outcome_from(outcome: wallet_pb2.MatchOutcome) -> Outcome:
    """How a match ended. Raises ``OutcomeMissing``."""
    match outcome.WhichOneof("outcome"):
        case "canak_win":
            return CanakWin(outcome.canak_win.seat, _FINISHES[outcome.canak_win.finish])
        case "canak_draw":
            return CanakDraw()
        case "klasik_win":
            return KlasikWin(outcome.klasik_win.seat)
        case "klasik_draw":
            # Sorted, so that the same seats in another order are the same request.
            return KlasikDraw(tuple(sorted(outcome.klasik_draw.contending)))
        case "house_win":
            return HouseWin()
        case _:
            raise OutcomeMissing("a settlement needs an outcome: name who won and how (M4)")


def receipt_to(receipt: Receipt) -> wallet_pb2.Receipt:
    """What was booked."""
    legs = [wallet_pb2.Leg(account=leg.account, amount=leg.amount) for leg in receipt.legs]
    return wallet_pb2.Receipt(journal_id=receipt.journal_id or 0, legs=legs)


def approval_to(approval: Approval) -> wallet_pb2.Approval:
    """A request for approval."""
    return wallet_pb2.Approval(
        approval_id=approval.approval_no,
        state=wallet_pb2.ApprovalState.Value(f"APPROVAL_STATE_{approval.state.name}"),
        kind=_kind_to(approval.kind),
        account=approval.account,
        chips=approval.chips,
        reverses=approval.reverses or 0,
        requester=approval.requester,
        reason=approval.reason,
        requested_at_ms=approval.requested_ms,
        expires_at_ms=approval.expires_ms,
        decided_by=approval.decided_by or "",
        decided_at_ms=approval.decided_ms or 0,
        decision_reason=approval.decision_reason or "",
        journal_id=approval.journal_id or 0,
        idempotency_key=approval.key,
        content_hash=approval.request_hash,
    )


def posting_to(posting: PostingView) -> wallet_pb2.Posting:
    """One posting of an account."""
    return wallet_pb2.Posting(
        journal_id=posting.journal_id,
        kind=_kind_to(posting.kind),
        amount=posting.amount,
        balance_after=posting.balance_after,
        booked_at_ms=posting.booked_ms,
        table_id=posting.table_id or "",
        match_id=posting.match_id or "",
        rules_version=posting.rules_version,
        reason=posting.reason or "",
    )


def audit_to(audit: Audit) -> wallet_pb2.VerifyLedgerResponse:
    """What a check came to."""
    return wallet_pb2.VerifyLedgerResponse(
        findings=map(finding_to, audit.findings),
        journal_count=audit.journal_count,
        posting_count=audit.posting_count,
    )


def after_journal(page_token: str) -> int:
    """The journal that a page goes on after; 0 for the first. Raises ``PageTokenBroken``."""
    if not page_token:
        return 0
    if not (page_token.isascii() and page_token.isdigit() and len(page_token) < 19):
        raise PageTokenBroken(f"{page_token!r} is no page token: send the one of the page before")
    return int(page_token)


def _kind_to(kind: JournalKind) -> wallet_pb2.JournalKind.ValueType:
    return wallet_pb2.JournalKind.Value(f"JOURNAL_KIND_{kind.name}")


def finding_to(finding: Finding) -> wallet_pb2.Finding:
    """One thing that is wrong."""
    return wallet_pb2.Finding(
        kind=wallet_pb2.FindingKind.Value(f"FINDING_KIND_{finding.kind.name}"),
        subject=finding.subject,
        expected=finding.expected,
        actual=finding.actual,
        table_id=finding.table,
    )


def anchor_from(anchor: wallet_pb2.Anchor) -> Head:
    """An exported head."""
    return Head(
        block_no=anchor.block_no,
        digest=anchor.digest,
        last_journal=anchor.last_journal,
        sealed_ms=anchor.sealed_at_ms,
        key_id=anchor.key_id,
        signature=anchor.signature,
    )


def anchor_to(head: Head) -> wallet_pb2.Anchor:
    """A head to export."""
    return wallet_pb2.Anchor(
        block_no=head.block_no,
        digest=head.digest,
        last_journal=head.last_journal,
        sealed_at_ms=head.sealed_ms,
        key_id=head.key_id,
        signature=head.signature,
    )


def audit_message_to(message: Progress | Finding | FullAudit) -> wallet_pb2.AuditLedgerResponse:
    """One message of an audit."""
    match message:
        case Progress():
            progress = wallet_pb2.AuditProgress(
                step=message.step, done=message.done, total=message.total
            )
            return wallet_pb2.AuditLedgerResponse(progress=progress)
        case Finding():
            return wallet_pb2.AuditLedgerResponse(finding=finding_to(message))
        case FullAudit():
            return wallet_pb2.AuditLedgerResponse(summary=_summary_to(message))


def _summary_to(audit: FullAudit) -> wallet_pb2.AuditSummary:
    """What the whole audit came to."""
    return wallet_pb2.AuditSummary(
        journal_count=audit.journal_count,
        posting_count=audit.posting_count,
        block_count=audit.block_count,
        sealed_count=audit.sealed_count,
        event_count=audit.event_count,
        is_engine_compared=audit.is_engine_compared,
        has_key=audit.has_key,
        frozen=audit.frozen,
        quarantined=audit.quarantined,
    )
