"""What a page leaves to its reader, such as ``<table>``: made on the platform that it is run on."""

import re
from itertools import count
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_client import autoplay
from services.okeyctl.demo.platform import StartedPlatform

_OVER: Final = (table_pb2.PHASE_NACHSPIEL, table_pb2.PHASE_CLOSED)
_ALONE: Final = lobby_pb2.TableTerms(mode=common_pb2.MODE_SOLO, seat_count=2, stake=100)
_FOUR: Final = lobby_pb2.TableTerms(seat_count=4, stake=100)


class Readers:
    """A page's readers: players with ids of their own, and the tables at which they sit."""

    def __init__(self, platform: StartedPlatform, page: str) -> None:
        self._platform = platform
        self._prefix = re.sub(r"\W", "-", page)
        self._numbers = count(1)

    async def placeholders(self, text: str) -> dict[str, str]:
        """By how it is written, for each that the text names."""
        found = {"<match>": "1", "<round>": "1"}
        if "<table>" in text or "<the table's id>" in text:
            found["<table>"] = found["<the table's id>"] = await self._finished_table()
        if "<running table>" in text:
            found["<running table>"] = await self._waiting_table()
        if "<player>" in text:
            found["<player>"] = await self._player_with_chips()
        if "<journal>" in text:
            found["<journal>"] = await self._journal_of_a_grant()
        if "<waiting player>" in text:
            found["<waiting player>"] = await self._player_with_a_ticket()
        return found

    def _name(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    async def _finished_table(self) -> str:
        async with self._platform.client(self._name()) as client:
            table = client.table(await client.lobby.create_table(_ALONE))
            await autoplay(table, lambda view: view.phase in _OVER)
            return table.table_id

    async def _waiting_table(self) -> str:
        async with self._platform.client(self._name()) as client:
            return await client.lobby.create_table(_FOUR)

    async def _player_with_chips(self) -> str:
        player = self._name()
        async with self._platform.client(player) as client:
            await client.wallet.balance_of(player)
        return player

    async def _player_with_a_ticket(self) -> str:
        player = self._name()
        async with self._platform.client(player) as client:
            await client.lobby.enqueue_ticket(_FOUR)
        return player

    async def _journal_of_a_grant(self) -> str:
        player = self._name()
        request = wallet_pb2.GrantChipsRequest(
            idempotency_key=f"grant-{player}", player_id=player, amount=500, reason="to be reversed"
        )
        async with self._platform.operator("wallet").open() as channel:
            answer = await wallet_pb2_grpc.WalletServiceStub(channel).GrantChips(request)
        return str(answer.receipt.journal_id)
