"""PeerService: what engines ask of one another."""

from typing import Any, Final

import grpc

from okey.api.engine.v1 import peer_pb2, peer_pb2_grpc
from okey.table.state import Phase
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role
from services.engine.errors import NoSuchEngine
from services.engine.here import Here
from services.engine.sharing import Sharing
from services.engine.summaries import Summaries
from services.engine.tables import Tables

SERVICE: Final = "okey.api.engine.v1.PeerService"

_ENGINE: Final = {Role.ENGINE}

ACCESS: Final = AccessTable.of(
    SERVICE,
    dict.fromkeys(("Look", "HandOver", "Leave", "ListOwnTables", "ForgetPlayer"), _ENGINE),
)

_MATCH_PHASES: Final = (Phase.STARTING, Phase.PLAYING, Phase.PAUSE, Phase.SETTLING)

Context = grpc.aio.ServicerContext[Any, Any]


def running_matches(tables: Tables) -> int:
    """How many matches run here."""
    return sum(actor.table.phase in _MATCH_PHASES for actor in tables.live())


class PeerServicer(peer_pb2_grpc.PeerServiceServicer):
    """Only other engines call this."""

    def __init__(self, tables: Tables, sharing: Sharing, here: Here, summaries: Summaries) -> None:
        self._tables = tables
        self._sharing = sharing
        self._here = here
        self._summaries = summaries

    async def Look(self, request: peer_pb2.LookRequest, context: Context) -> peer_pb2.LookResponse:
        """Follow the board, and what operators decided."""
        await self._sharing.look()
        await self._sharing.look_at_operators()
        return peer_pb2.LookResponse(running_matches=running_matches(self._tables))

    async def HandOver(
        self, request: peer_pb2.HandOverRequest, context: Context
    ) -> peer_pb2.HandOverResponse:
        """Give a shard away, to stay there."""
        if not await self._sharing.hand_over({request.shard}, request.engine, is_pinned=True):
            raise NoSuchEngine(
                f"shard {request.shard} did not go to {request.engine}: either this engine does "
                "not have it any more, or that one does not live or takes no shards"
            )
        return peer_pb2.HandOverResponse()

    async def Leave(
        self, request: peer_pb2.LeaveRequest, context: Context
    ) -> peer_pb2.LeaveResponse:
        """Leave."""
        return peer_pb2.LeaveResponse(tables=await self._here.leave())

    async def ListOwnTables(
        self, request: peer_pb2.ListOwnTablesRequest, context: Context
    ) -> peer_pb2.ListOwnTablesResponse:
        """A page of the tables of this engine."""
        return await self._summaries.page(request.page_size, request.after)

    async def ForgetPlayer(
        self, request: peer_pb2.ForgetPlayerRequest, context: Context
    ) -> peer_pb2.ForgetPlayerResponse:
        """No table here shows the name any more."""
        self._tables.forget(request.player_id)
        return peer_pb2.ForgetPlayerResponse()
