"""OperatorService: running the engine."""

from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.table import commands as c
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role, current_identity
from services.engine.everywhere import Everywhere
from services.engine.forwarding import Forwarding, forwarded
from services.engine.here import Here
from services.engine.interventions import Interventions
from services.engine.money_events import MoneyEvents
from services.engine.peer_servicer import running_matches
from services.engine.player_commands import request_of
from services.engine.shards import shard_of
from services.engine.tables import Tables
from services.engine.voiding import Voiding

SERVICE: Final = "okey.api.engine.v1.OperatorService"

_OPERATOR: Final = {Role.OPERATOR}
_AUDITORS: Final = {Role.OPERATOR, Role.WALLET}

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        "ListTables": {Role.OPERATOR, Role.LOBBY},
        "VoidMatch": _OPERATOR,
        "VoidTable": _OPERATOR,
        "ReleaseTable": _OPERATOR,
        "MoveTable": _OPERATOR,
        "ListShards": _OPERATOR,
        "MoveShard": _OPERATOR,
        "Drain": _OPERATOR,
        "SetMaintenance": _OPERATOR,
        "QuarantineTable": _AUDITORS,
        "ExportMoneyEvents": _AUDITORS,
    },
)

_PAGE: Final = 100

Context = grpc.aio.ServicerContext[Any, Any]


class OperatorServicer(engine_pb2_grpc.OperatorServiceServicer):
    """What operators ask of the engines: of a table's, of one that they name, or of all."""

    stub: Final = engine_pb2_grpc.OperatorServiceStub

    def __init__(
        self,
        tables: Tables,
        interventions: Interventions,
        voiding: Voiding,
        money: MoneyEvents,
        everywhere: Everywhere,
        here: Here,
        forwarding: Forwarding,
    ) -> None:
        self.forwarding: Final = forwarding
        self._tables = tables
        self._interventions = interventions
        self._voiding = voiding
        self._money = money
        self._everywhere = everywhere
        self._here = here

    async def ListTables(
        self, request: engine_pb2.ListTablesRequest, context: Context
    ) -> engine_pb2.ListTablesResponse:
        """The tables of all engines that are not closed, quarantined ones too, by id."""
        page = await self._everywhere.list_tables(request.page_size or _PAGE, request.page_token)
        return engine_pb2.ListTablesResponse(
            tables=page.tables,
            next_page_token=page.tables[-1].table_id if page.has_more and page.tables else "",
            is_maintenance=self._tables.maintenance.is_on,
        )

    @forwarded
    async def VoidMatch(
        self, request: engine_pb2.VoidMatchRequest, context: Context
    ) -> engine_pb2.VoidMatchResponse:
        """Void the running match (M10)."""
        operator = current_identity().subject
        accepted = await self._interventions.void(
            request.table_id,
            c.VoidMatch(operator, request.reason),
            request_of(operator, request, request.request_id),
        )
        return engine_pb2.VoidMatchResponse(seq=accepted.seq)

    @forwarded
    async def VoidTable(
        self, request: engine_pb2.VoidTableRequest, context: Context
    ) -> engine_pb2.VoidTableResponse:
        """End the table (M10)."""
        operator = current_identity().subject
        ended = await self._voiding.void_table(
            request.table_id,
            operator,
            request.reason,
            request_of(operator, request, request.request_id),
        )
        return engine_pb2.VoidTableResponse(
            seq=ended.seq, match_ids=ended.match_ids, left_at_wallet=ended.left_at_wallet
        )

    @forwarded
    async def ReleaseTable(
        self, request: engine_pb2.ReleaseTableRequest, context: Context
    ) -> engine_pb2.ReleaseTableResponse:
        """Load the table anew."""
        actor = await self._interventions.release(request.table_id)
        return engine_pb2.ReleaseTableResponse(seq=actor.seq)

    async def MoveTable(
        self, request: engine_pb2.MoveTableRequest, context: Context
    ) -> engine_pb2.MoveTableResponse:
        """Hand the table's shard over."""
        await self._here.refuse_if_unknown(request.table_id)
        address = await self._here.move(shard_of(request.table_id), request.engine)
        return engine_pb2.MoveTableResponse(address=address)

    async def MoveShard(
        self, request: engine_pb2.MoveShardRequest, context: Context
    ) -> engine_pb2.MoveShardResponse:
        """Hand a shard over, to stay there."""
        address = await self._here.move(request.shard, request.engine)
        return engine_pb2.MoveShardResponse(address=address)

    async def ListShards(
        self, request: engine_pb2.ListShardsRequest, context: Context
    ) -> engine_pb2.ListShardsResponse:
        """Who has what."""
        return await self._everywhere.shards()

    async def Drain(
        self, request: engine_pb2.DrainRequest, context: Context
    ) -> engine_pb2.DrainResponse:
        """Make an engine leave; whoever minds its process starts a new one."""
        engine = request.engine or self._here.engine
        tables = await self._here.drain(engine)
        return engine_pb2.DrainResponse(tables=tables, engine=engine)

    async def SetMaintenance(
        self, request: engine_pb2.SetMaintenanceRequest, context: Context
    ) -> engine_pb2.SetMaintenanceResponse:
        """Refuse new tables and matches at every engine, or allow them again."""
        await self._interventions.set_maintenance(request.is_on, current_identity().subject)
        elsewhere = await self._everywhere.look()
        return engine_pb2.SetMaintenanceResponse(
            running_matches=running_matches(self._tables) + elsewhere
        )

    @forwarded
    async def QuarantineTable(
        self, request: engine_pb2.QuarantineTableRequest, context: Context
    ) -> engine_pb2.QuarantineTableResponse:
        """Make a table stand still, in the caller's name."""
        reason = f"{current_identity().subject}: {request.reason}"
        changed = await self._interventions.quarantine(request.table_id, reason)
        return engine_pb2.QuarantineTableResponse(changed=changed)

    async def ExportMoneyEvents(
        self, request: engine_pb2.ExportMoneyEventsRequest, context: Context
    ) -> AsyncIterator[engine_pb2.ExportMoneyEventsResponse]:
        """Every event that moves chips."""
        async for event in self._money.of(request.table_ids, request.since_ms):
            yield event
