-- What PostgreSQL itself refuses, whoever asks. Statements are parted by an empty line.
-- A journal is one row that carries its legs as a JSON object, account to chips; inserting it is the only
-- way to a posting, and a posting the only way to a balance.

-- The legs are checked and become postings and balances. It runs as the schema's owner, because the
-- application may write neither; pg_temp comes last, so that nobody shadows a table.
CREATE OR REPLACE FUNCTION book_journal() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    is_sound boolean;
BEGIN
    SELECT json_typeof(NEW.legs::json) = 'object'
        AND count(*) >= 2 AND count(*) = count(DISTINCT leg.key) AND sum(leg.amount) = 0
        AND bool_and(leg.type = 'number' AND leg.amount <> 0 AND abs(leg.amount) <= 1000000000000000)
    INTO is_sound
    FROM (SELECT key, json_typeof(value) AS type, (value #>> '{}')::bigint AS amount
          FROM json_each(NEW.legs::json)) AS leg;
    IF is_sound IS NOT TRUE THEN
        RAISE EXCEPTION 'journals_are_sound: two or more legs on different accounts, none zero, that sum to zero'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO postings (journal_id, account, amount, balance_after, version)
        SELECT NEW.journal_id, leg.key, leg.amount, before.balance + leg.amount, before.version + 1
        FROM (SELECT key, value::bigint AS amount FROM json_each_text(NEW.legs::json)) AS leg
        -- LIMIT, so that each is looked up by its name: PostgreSQL expects a hundred legs of any JSON, and
        -- would rather read all accounts.
        LEFT JOIN LATERAL (
            SELECT balance, version FROM accounts WHERE account = leg.key LIMIT 1
        ) AS before ON true;
    UPDATE accounts SET balance = postings.balance_after, version = postings.version
        FROM postings
        WHERE postings.journal_id = NEW.journal_id AND postings.account = accounts.account;
    RETURN NULL;
END $$

-- A posting is a leg of its journal, and goes on from its account's last one. There is no late leg: all
-- legs are posted when their journal is inserted, and the primary key refuses a second posting of one. (Names
-- with their schema cost less than a search path a call.)
CREATE OR REPLACE FUNCTION guard_posting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM public.journals
        WHERE journal_id = NEW.journal_id AND (legs::json ->> NEW.account)::bigint = NEW.amount
    ) THEN
        RAISE EXCEPTION 'postings_are_legs: % is no leg of journal %', NEW.account, NEW.journal_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.version IS NOT NULL AND NOT EXISTS (
        SELECT FROM public.accounts
        WHERE account = NEW.account
            AND version + 1 = NEW.version AND balance + NEW.amount = NEW.balance_after
    ) THEN
        RAISE EXCEPTION 'postings_go_on: % does not go on from the last posting of %', NEW.version, NEW.account
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$

-- An account opens empty, follows its next posting, and stays.
CREATE OR REPLACE FUNCTION guard_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF (NEW.balance, NEW.version) = (0, 0) THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.account = OLD.account AND (
        (NEW.balance, NEW.version) = (OLD.balance, OLD.version)
        OR (NEW.version = OLD.version + 1 AND EXISTS (
            SELECT FROM public.postings
            WHERE account = NEW.account AND version = NEW.version AND balance_after = NEW.balance
        ))
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'accounts_follow_postings: % opens at zero and moves with its postings', NEW.account
        USING ERRCODE = 'integrity_constraint_violation';
END $$

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% are only added to', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$

REVOKE EXECUTE ON FUNCTION book_journal(), guard_posting(), guard_account(), refuse_change() FROM PUBLIC

CREATE TRIGGER journals_book AFTER INSERT ON journals
FOR EACH ROW EXECUTE FUNCTION book_journal()

CREATE TRIGGER postings_guard BEFORE INSERT ON postings
FOR EACH ROW EXECUTE FUNCTION guard_posting()

CREATE TRIGGER accounts_guard BEFORE INSERT OR UPDATE ON accounts
FOR EACH ROW EXECUTE FUNCTION guard_account()

CREATE TRIGGER journals_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON journals
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

CREATE TRIGGER postings_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON postings
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

CREATE TRIGGER requests_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON requests
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON accounts
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
