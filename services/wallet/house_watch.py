"""Tells how many chips the house has where that bounds what it may do: the bot bank (M3, M7)."""

from typing import Final

from okey.errors import Exhausted, Unavailable
from okey.money.account import HOUSE_BONUS, HOUSE_BOT_BANK
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime.clock import Clock
from okey_runtime.logging import get_logger
from services.wallet.metrics import BOT_BANK_FLOOR, HOUSE_CHIPS
from services.wallet.wallet import Wallet

WATCHED: Final = (HOUSE_BOT_BANK, HOUSE_BONUS)
"""The accounts that may go below zero without holding anything up."""

_log = get_logger(__name__)


async def watch_house(wallet: Wallet, clock: Clock, every_ms: int) -> None:
    """Look for ever; what cannot be read now keeps its number until the next time."""
    BOT_BANK_FLOOR.set(DEFAULT_RULE_SET.bot_bank_floor)
    while True:
        try:
            await tell_house(wallet)
        except (Unavailable, Exhausted) as error:
            _log.warning("house_not_read", error=str(error))
        await clock.sleep_until_ms(clock.monotonic_ms() + every_ms)


async def tell_house(wallet: Wallet) -> None:
    """Read each account once. Raises ``DatabaseAway``, ``DatabaseBusy``."""
    for account in WATCHED:
        balance = (await wallet.account(account, may_open=False)).balance
        HOUSE_CHIPS.labels(account).set(balance)
