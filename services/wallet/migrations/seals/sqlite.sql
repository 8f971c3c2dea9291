-- What SQLite itself refuses, whoever asks; the same as in postgresql.sql. Statements are parted by an
-- empty line.
-- Every check is a trigger, also where a constraint says the same: `PRAGMA ignore_check_constraints` turns
-- those off, and the conflict clause of an outer statement (OR IGNORE, OR REPLACE) is passed on to the
-- statements of its triggers, but not to RAISE. OR REPLACE fires no delete triggers, so a taken key is
-- refused before the row that has it would go.

CREATE TRIGGER journals_are_added BEFORE INSERT ON journals
BEGIN
    SELECT RAISE(ABORT, 'journals are only added to')
    WHERE EXISTS (
        SELECT 1 FROM journals WHERE journal_id = NEW.journal_id OR reverses = NEW.reverses
    );
END

CREATE TRIGGER journals_book AFTER INSERT ON journals
BEGIN
    SELECT RAISE(ABORT, 'journals_are_sound: the database numbers them')
    WHERE NEW.journal_id <> 1 + coalesce(
        (SELECT max(journal_id) FROM journals WHERE journal_id < NEW.journal_id), 0
    );
    SELECT RAISE(ABORT, 'journals_are_sound: two or more legs on different accounts, none zero, that sum to zero')
    WHERE json_type(NEW.legs) <> 'object' OR NOT coalesce((
        SELECT count(*) >= 2 AND count(*) = count(DISTINCT key)
            AND min(type = 'integer' AND value <> 0 AND abs(value) <= 1000000000000000)
            AND sum(value) = 0
        FROM json_each(NEW.legs)
    ), 0);
    INSERT INTO postings (journal_id, account, amount, balance_after, version)
        SELECT NEW.journal_id, leg.key, leg.value, accounts.balance + leg.value, accounts.version + 1
        FROM json_each(NEW.legs) AS leg
        LEFT JOIN accounts ON accounts.account = leg.key;
    UPDATE accounts SET (balance, version) = (
        SELECT balance_after, version FROM postings
        WHERE journal_id = NEW.journal_id AND account = accounts.account
    )
    WHERE account IN (SELECT key FROM json_each(NEW.legs));
END

CREATE TRIGGER postings_guard BEFORE INSERT ON postings
BEGIN
    SELECT RAISE(ABORT, 'postings_never_overdraw: below zero') WHERE NEW.balance_after < 0;
    SELECT RAISE(ABORT, 'postings_are_legs: no leg of the journal, or posted already')
    WHERE EXISTS (
        SELECT 1 FROM postings WHERE journal_id = NEW.journal_id AND account = NEW.account
    ) OR NOT EXISTS (
        SELECT 1 FROM journals, json_each(journals.legs) AS leg
        WHERE journals.journal_id = NEW.journal_id AND leg.key = NEW.account AND leg.value = NEW.amount
    );
    SELECT RAISE(ABORT, 'postings_go_on: not the next posting of the account')
    WHERE CASE
        WHEN NEW.account IN (
            'house:rake', 'house:penalty', 'house:unclaimed', 'house:bonus', 'house:bot_bank',
            'system:issuance'
        ) THEN NEW.version IS NOT NULL OR NEW.balance_after IS NOT NULL
        ELSE NOT EXISTS (
            SELECT 1 FROM accounts
            WHERE account = NEW.account
                AND version + 1 = NEW.version AND balance + NEW.amount = NEW.balance_after
        )
    END;
END

CREATE TRIGGER accounts_open_empty BEFORE INSERT ON accounts
BEGIN
    SELECT RAISE(ABORT, 'accounts_follow_postings: opens once, at zero')
    WHERE NEW.balance <> 0 OR NEW.version <> 0
        OR EXISTS (SELECT 1 FROM accounts WHERE account = NEW.account);
    SELECT RAISE(ABORT, 'accounts_are_of_a_kind: no account that keeps a balance')
    WHERE NOT (NEW.account GLOB 'player:?*' OR NEW.account GLOB 'escrow:?*'
        OR NEW.account GLOB 'pot:?*' OR NEW.account GLOB 'kasa:?*');
END

CREATE TRIGGER accounts_follow_postings BEFORE UPDATE ON accounts
WHEN NEW.account <> OLD.account
    OR ((NEW.balance <> OLD.balance OR NEW.version <> OLD.version) AND (
        NEW.version <> OLD.version + 1 OR NOT EXISTS (
            SELECT 1 FROM postings
            WHERE account = NEW.account AND version = NEW.version AND balance_after = NEW.balance
        )
    ))
BEGIN
    SELECT RAISE(ABORT, 'accounts_follow_postings: moves with its postings only');
END

CREATE TRIGGER accounts_stay BEFORE DELETE ON accounts
BEGIN
    SELECT RAISE(ABORT, 'accounts are only added to');
END

CREATE TRIGGER requests_are_added BEFORE INSERT ON requests
WHEN EXISTS (SELECT 1 FROM requests WHERE idempotency_key = NEW.idempotency_key)
BEGIN
    SELECT RAISE(ABORT, 'requests are only added to: the key is used');
END

CREATE TRIGGER journals_refuse_update BEFORE UPDATE ON journals
BEGIN
    SELECT RAISE(ABORT, 'journals are only added to');
END

CREATE TRIGGER journals_refuse_delete BEFORE DELETE ON journals
BEGIN
    SELECT RAISE(ABORT, 'journals are only added to');
END

CREATE TRIGGER postings_refuse_update BEFORE UPDATE ON postings
BEGIN
    SELECT RAISE(ABORT, 'postings are only added to');
END

CREATE TRIGGER postings_refuse_delete BEFORE DELETE ON postings
BEGIN
    SELECT RAISE(ABORT, 'postings are only added to');
END

CREATE TRIGGER requests_refuse_update BEFORE UPDATE ON requests
BEGIN
    SELECT RAISE(ABORT, 'requests are only added to');
END

CREATE TRIGGER requests_refuse_delete BEFORE DELETE ON requests
BEGIN
    SELECT RAISE(ABORT, 'requests are only added to');
END
