-- A closed account is empty, stays closed, and takes no posting; closures are only added to.

CREATE OR REPLACE FUNCTION guard_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.is_closed AND (NOT NEW.is_closed OR NEW.balance <> 0 OR NEW.version <> OLD.version))
        OR (NEW.is_closed AND NEW.balance <> 0) THEN
        RAISE EXCEPTION 'accounts_stay_closed: % is empty, and closed for good', NEW.account
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$

REVOKE EXECUTE ON FUNCTION guard_closed() FROM PUBLIC

CREATE TRIGGER accounts_stay_closed BEFORE UPDATE ON accounts
FOR EACH ROW EXECUTE FUNCTION guard_closed()

CREATE TRIGGER account_closures_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON account_closures
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
