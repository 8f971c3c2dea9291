"""Whether the house's bot bank has enough for new solo tables (M7)."""

from typing import Final

import grpc

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.errors import Refused
from okey.money.account import HOUSE_BOT_BANK
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey_runtime.channel import timeout_s
from okey_runtime.errors import RpcFailure, from_rpc_error
from okey_runtime.logging import get_logger

IDEMPOTENT: Final = ("/okey.api.wallet.v1.WalletService/GetAccount",)

_CALL_S: Final = 3.0

_log = get_logger(__name__)


class BotBankLow(Refused):
    """The bot bank is below the level down to which new solo tables are made."""

    reason = "BOT_BANK_LOW"


class BotBank:
    """The wallet's ``house:bot_bank``, asked over a channel with the lobby's own token."""

    def __init__(self, wallet: grpc.aio.Channel, rules: RuleSet = DEFAULT_RULE_SET) -> None:
        self._wallet = wallet_pb2_grpc.WalletServiceStub(wallet)
        self._floor = rules.bot_bank_floor

    async def require_open(self) -> None:
        """Return if new solo tables may be made (M7).

        Raises:
            BotBankLow: the bank is below its floor.
            RpcFailure: the wallet could not be asked.
        """
        balance = await self._balance()
        if balance < self._floor:
            raise BotBankLow(
                f"the house's bot bank holds {balance} chips, below {self._floor}: "
                "play against people, or try again later (M7)"
            )

    async def is_open(self) -> bool:
        """Whether the house plays along now; no where the wallet cannot be asked."""
        try:
            await self.require_open()
        except (BotBankLow, RpcFailure) as why:
            _log.info("no_bots_for_quick_match", error=str(why))
            return False
        return True

    async def _balance(self) -> int:
        request = wallet_pb2.GetAccountRequest(account=HOUSE_BOT_BANK)
        try:
            response = await self._wallet.GetAccount(request, timeout=timeout_s(_CALL_S))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return 0  # an account that was never used
            raise from_rpc_error(error) from error
        return response.balance
