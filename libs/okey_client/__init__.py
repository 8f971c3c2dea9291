"""The typed async client of the platform: retries, redirects, resumed streams, named refusals.

    async with OkeyClient(lobby_address=..., engine_address=..., token_provider=...) as client:
        table_id = await client.lobby.create_table(TableTerms(seat_count=2, stake=100))
        async for change in client.table(table_id).follow():
            ...

A refused call raises ``RpcFailure``, whose ``reason`` is the stable name of the refusal.
"""

from okey_client.autoplay import action_due, autoplay
from okey_client.calls import RetryPolicy
from okey_client.client import ClientNotConfigured, OkeyClient
from okey_client.lobby import LobbyClient
from okey_client.mirror import Change, TableMirror
from okey_client.play import PlayedTable
from okey_client.pure import action_message, pure_view
from okey_client.rating import RatingClient
from okey_client.relay import RelayedTable
from okey_client.table import TableClient
from okey_client.wallet import WalletClient
from okey_runtime.errors import RpcFailure

__all__ = [
    "Change",
    "ClientNotConfigured",
    "LobbyClient",
    "OkeyClient",
    "PlayedTable",
    "RatingClient",
    "RelayedTable",
    "RetryPolicy",
    "RpcFailure",
    "TableClient",
    "TableMirror",
    "WalletClient",
    "action_due",
    "action_message",
    "autoplay",
    "pure_view",
]
