-- A request is decided once, by somebody else than its requester and in time; until then nothing is booked
-- under its key, and what it asks for never changes.

CREATE OR REPLACE FUNCTION guard_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'requested' OR NEW.decided_by IS NOT NULL OR NEW.decided_ms IS NOT NULL
            OR NEW.decision_reason IS NOT NULL OR NEW.journal_id IS NOT NULL
            OR EXISTS (SELECT FROM public.requests WHERE idempotency_key = NEW.idempotency_key) THEN
            RAISE EXCEPTION 'approvals_are_decided_once: % begins undecided, under a key of its own', NEW.approval_no
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.state <> 'requested' OR NEW.state = 'requested' OR NEW.decided_ms IS NULL
        OR (NEW.approval_no, NEW.idempotency_key, NEW.request_hash, NEW.kind, NEW.account, NEW.chips,
            NEW.requester, NEW.reason, NEW.requested_ms, NEW.expires_ms)
        IS DISTINCT FROM
           (OLD.approval_no, OLD.idempotency_key, OLD.request_hash, OLD.kind, OLD.account, OLD.chips,
            OLD.requester, OLD.reason, OLD.requested_ms, OLD.expires_ms)
        OR NEW.reverses IS DISTINCT FROM OLD.reverses
        OR (NEW.state = 'approved') <> (NEW.journal_id IS NOT NULL) THEN
        RAISE EXCEPTION 'approvals_are_decided_once: % was decided, or what it asks for would change', OLD.approval_no
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state = 'approved' AND (
        NEW.decided_by IS NULL OR NEW.decided_by = OLD.requester OR NEW.decided_ms >= OLD.expires_ms
        OR NOT EXISTS (
            SELECT FROM public.journals WHERE journal_id = NEW.journal_id AND actor = OLD.requester
                AND (legs::json ->> OLD.account)::bigint = OLD.chips
                AND reverses IS NOT DISTINCT FROM OLD.reverses
        )
    ) THEN
        RAISE EXCEPTION 'approvals_need_two: % is booked as asked, approved in time by a second operator', OLD.approval_no
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$

CREATE OR REPLACE FUNCTION guard_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM public.approvals WHERE idempotency_key = NEW.idempotency_key
            AND (state <> 'approved' OR journal_id IS DISTINCT FROM NEW.journal_id)
    ) THEN
        RAISE EXCEPTION 'requests_wait_for_approval: % needs a second operator', NEW.idempotency_key
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$

REVOKE EXECUTE ON FUNCTION guard_approval(), guard_request() FROM PUBLIC

CREATE TRIGGER approvals_guard BEFORE INSERT OR UPDATE ON approvals
FOR EACH ROW EXECUTE FUNCTION guard_approval()

CREATE TRIGGER requests_wait_for_approval BEFORE INSERT ON requests
FOR EACH ROW EXECUTE FUNCTION guard_request()

CREATE TRIGGER approvals_stay BEFORE DELETE OR TRUNCATE ON approvals
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

CREATE TRIGGER approval_limits_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON approval_limits
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
