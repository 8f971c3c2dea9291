-- A request is decided once, by somebody else than its requester and in time; until then nothing is booked
-- under its key, and what it asks for never changes. The same as in approvals_postgresql.sql.

CREATE TRIGGER approvals_are_added BEFORE INSERT ON approvals
WHEN NEW.state <> 'requested' OR NEW.decided_by IS NOT NULL OR NEW.decided_ms IS NOT NULL
    OR NEW.decision_reason IS NOT NULL OR NEW.journal_id IS NOT NULL
    OR EXISTS (SELECT 1 FROM requests WHERE idempotency_key = NEW.idempotency_key)
    OR EXISTS (
        SELECT 1 FROM approvals
        WHERE approval_no = NEW.approval_no OR idempotency_key = NEW.idempotency_key
    )
BEGIN
    SELECT RAISE(ABORT, 'approvals_are_decided_once: begins undecided, under a key of its own');
END

CREATE TRIGGER approvals_are_decided_once BEFORE UPDATE ON approvals
WHEN OLD.state <> 'requested' OR NEW.state NOT IN ('approved', 'rejected', 'expired') OR NEW.decided_ms IS NULL
    OR (NEW.approval_no, NEW.idempotency_key, NEW.request_hash, NEW.kind, NEW.account, NEW.chips,
        NEW.requester, NEW.reason, NEW.requested_ms, NEW.expires_ms)
    <> (OLD.approval_no, OLD.idempotency_key, OLD.request_hash, OLD.kind, OLD.account, OLD.chips,
        OLD.requester, OLD.reason, OLD.requested_ms, OLD.expires_ms)
    OR NEW.reverses IS NOT OLD.reverses
    OR (NEW.state = 'approved') <> (NEW.journal_id IS NOT NULL)
    OR EXISTS (
        SELECT 1 FROM approvals
        WHERE journal_id = NEW.journal_id AND approval_no <> OLD.approval_no
    )
BEGIN
    SELECT RAISE(ABORT, 'approvals_are_decided_once: decided, or what it asks for would change');
END

CREATE TRIGGER approvals_need_two BEFORE UPDATE ON approvals
WHEN NEW.state = 'approved' AND (
    NEW.decided_by IS NULL OR NEW.decided_by = OLD.requester OR NEW.decided_ms >= OLD.expires_ms
    OR NOT EXISTS (
        SELECT 1 FROM journals JOIN postings USING (journal_id)
        WHERE journals.journal_id = NEW.journal_id AND journals.actor = OLD.requester
            AND journals.reverses IS OLD.reverses
            AND postings.account = OLD.account AND postings.amount = OLD.chips
    )
)
BEGIN
    SELECT RAISE(ABORT, 'approvals_need_two: booked as asked, approved in time by a second operator');
END

CREATE TRIGGER requests_wait_for_approval BEFORE INSERT ON requests
WHEN EXISTS (
    SELECT 1 FROM approvals WHERE idempotency_key = NEW.idempotency_key
        AND (state <> 'approved' OR journal_id IS NOT NEW.journal_id)
)
BEGIN
    SELECT RAISE(ABORT, 'requests_wait_for_approval: needs a second operator');
END

CREATE TRIGGER approvals_refuse_delete BEFORE DELETE ON approvals
BEGIN
    SELECT RAISE(ABORT, 'approvals are only added to');
END

CREATE TRIGGER approval_limits_are_added BEFORE INSERT ON approval_limits
WHEN EXISTS (SELECT 1 FROM approval_limits WHERE limit_no = NEW.limit_no)
BEGIN
    SELECT RAISE(ABORT, 'approval_limits are only added to');
END

CREATE TRIGGER approval_limits_refuse_update BEFORE UPDATE ON approval_limits
BEGIN
    SELECT RAISE(ABORT, 'approval_limits are only added to');
END

CREATE TRIGGER approval_limits_refuse_delete BEFORE DELETE ON approval_limits
BEGIN
    SELECT RAISE(ABORT, 'approval_limits are only added to');
END
