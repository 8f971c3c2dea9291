-- Blocks and freezes are only added to; OR REPLACE fires no delete triggers, so a taken number is refused.

CREATE TRIGGER chain_blocks_are_added BEFORE INSERT ON chain_blocks
WHEN EXISTS (SELECT 1 FROM chain_blocks WHERE block_no = NEW.block_no)
BEGIN
    SELECT RAISE(ABORT, 'chain_blocks are only added to');
END

CREATE TRIGGER chain_blocks_refuse_update BEFORE UPDATE ON chain_blocks
BEGIN
    SELECT RAISE(ABORT, 'chain_blocks are only added to');
END

CREATE TRIGGER chain_blocks_refuse_delete BEFORE DELETE ON chain_blocks
BEGIN
    SELECT RAISE(ABORT, 'chain_blocks are only added to');
END

CREATE TRIGGER account_freezes_are_added BEFORE INSERT ON account_freezes
WHEN EXISTS (SELECT 1 FROM account_freezes WHERE freeze_no = NEW.freeze_no)
BEGIN
    SELECT RAISE(ABORT, 'account_freezes are only added to');
END

CREATE TRIGGER account_freezes_refuse_update BEFORE UPDATE ON account_freezes
BEGIN
    SELECT RAISE(ABORT, 'account_freezes are only added to');
END

CREATE TRIGGER account_freezes_refuse_delete BEFORE DELETE ON account_freezes
BEGIN
    SELECT RAISE(ABORT, 'account_freezes are only added to');
END
