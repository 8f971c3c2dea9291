"""PlayerDataService: what operators ask about players' data."""

from typing import Any, Final

import grpc

from okey.api.engine.v1 import players_pb2, players_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role
from services.engine.everywhere import Everywhere
from services.engine.players import Players
from services.engine.revocations import RevocationList
from services.engine.tables import Tables

SERVICE: Final = "okey.api.engine.v1.PlayerDataService"

ACCESS: Final = AccessTable.of(
    SERVICE, {"ExportPlayer": {Role.OPERATOR}, "ErasePlayer": {Role.OPERATOR}}
)

Context = grpc.aio.ServicerContext[Any, Any]


class PlayerDataServicer(players_pb2_grpc.PlayerDataServiceServicer):
    """Export and erasure of what the engine keeps."""

    def __init__(
        self,
        players: Players,
        tables: Tables,
        everywhere: Everywhere,
        revocations: RevocationList,
    ) -> None:
        self._revocations = revocations
        self._players = players
        self._tables = tables
        self._everywhere = everywhere

    async def ExportPlayer(
        self, request: players_pb2.ExportPlayerRequest, context: Context
    ) -> players_pb2.ExportPlayerResponse:
        """Name and seat."""
        kept = await self._players.find(request.player_id)
        return players_pb2.ExportPlayerResponse(
            display_name=kept.display_name,
            table_id=kept.table_id,
            is_closed=kept.is_closed,
            is_known=kept.is_known,
        )

    async def ErasePlayer(
        self, request: players_pb2.ErasePlayerRequest, context: Context
    ) -> players_pb2.ErasePlayerResponse:
        """Close the id and end its tokens; tables where it sat once forget its name too, at every
        engine.
        """
        player = request.player_id
        changed = await self._players.close(player, allow_unknown=request.allow_unknown)
        await self._revocations.revoke_player(player)
        self._tables.forget(player)
        await self._everywhere.forget(player)
        return players_pb2.ErasePlayerResponse(changed=changed)
