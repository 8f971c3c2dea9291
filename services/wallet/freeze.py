"""Freezing a player's account: it still receives, and nothing can be taken from it."""

from sqlalchemy import Connection, insert, select, update

from okey.errors import InvalidInput
from okey.money.account import Account, is_player
from services.wallet.chain_schema import account_freezes
from services.wallet.decline import AccountNotFound
from services.wallet.schema import accounts


class AccountNotFreezable(InvalidInput):
    """Only players' accounts are frozen; a table with doubtful money is quarantined instead."""

    reason = "ACCOUNT_NOT_FREEZABLE"


def set_frozen(
    connection: Connection, account: Account, *, frozen: bool, actor: str, reason: str, now_ms: int
) -> bool:
    """Freeze the account or lift that, and keep who did it and why; whether it changed anything.

    Raises ``AccountNotFreezable``, ``AccountNotFound``.
    """
    if not is_player(account):
        raise AccountNotFreezable(f"{account} is not a player's account: only those are frozen")
    found = select(accounts.c.frozen).where(accounts.c.account == account).with_for_update()
    is_frozen = connection.execute(found).scalar_one_or_none()
    if is_frozen is None:
        raise AccountNotFound(f"{account} was never used: there is nothing to freeze")
    if bool(is_frozen) == frozen:
        return False
    connection.execute(update(accounts).where(accounts.c.account == account).values(frozen=frozen))
    connection.execute(
        insert(account_freezes).values(
            account=account, is_frozen=frozen, changed_ms=now_ms, actor=actor, reason=reason
        )
    )
    return True
