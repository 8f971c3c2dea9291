"""The wallet, as its account's owner reads it."""

from collections.abc import AsyncIterator

import grpc

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.account import player_account
from okey_client.calls import Calls


class WalletClient:
    """Reading accounts; every refused call raises ``RpcFailure``."""

    def __init__(self, channel: grpc.aio.Channel, calls: Calls) -> None:
        self._stub = wallet_pb2_grpc.WalletServiceStub(channel)
        self._calls = calls

    async def account(self, account: str) -> wallet_pb2.GetAccountResponse:
        """An account as it is now, by its name in the ledger."""
        request = wallet_pb2.GetAccountRequest(account=account)
        return await self._calls.unary(self._stub.GetAccount, request)

    async def balance_of(self, player_id: str) -> int:
        """A player's chips, those held as stakes apart."""
        return (await self.account(player_account(player_id))).balance

    async def postings(self, account: str) -> AsyncIterator[wallet_pb2.Posting]:
        """An account's postings, oldest first, page after page."""
        request = wallet_pb2.ListPostingsRequest(account=account)
        while True:
            page = await self._calls.unary(self._stub.ListPostings, request)
            for posting in page.postings:
                yield posting
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
