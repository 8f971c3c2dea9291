-- Blocks and freezes are only added to; the function is the ledger's.

CREATE TRIGGER chain_blocks_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON chain_blocks
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()

CREATE TRIGGER account_freezes_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON account_freezes
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
