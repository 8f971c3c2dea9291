-- A closed account is empty, stays closed, and takes no posting; closures are only added to.

CREATE TRIGGER accounts_stay_closed BEFORE UPDATE ON accounts
WHEN (OLD.is_closed AND (NOT NEW.is_closed OR NEW.balance <> 0 OR NEW.version <> OLD.version))
    OR (NEW.is_closed AND NEW.balance <> 0)
BEGIN
    SELECT RAISE(ABORT, 'accounts_stay_closed: empty, and for good');
END

CREATE TRIGGER account_closures_are_added BEFORE INSERT ON account_closures
WHEN EXISTS (SELECT 1 FROM account_closures WHERE account = NEW.account)
BEGIN
    SELECT RAISE(ABORT, 'account_closures are only added to');
END

CREATE TRIGGER account_closures_refuse_update BEFORE UPDATE ON account_closures
BEGIN
    SELECT RAISE(ABORT, 'account_closures are only added to');
END

CREATE TRIGGER account_closures_refuse_delete BEFORE DELETE ON account_closures
BEGIN
    SELECT RAISE(ABORT, 'account_closures are only added to');
END
