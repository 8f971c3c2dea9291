"""OperatorService: running the engine."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey.table import commands as c
from okey.table.state import Phase
from okey.table.view import SPECTATOR, view
from okey_runtime.access import AccessTable
from okey_runtime.clock import Clock
from okey_runtime.identity import Role, current_identity
from okey_runtime.logging import get_logger
from okey_runtime.readiness import Readiness
from services.engine.actor import TableActor
from services.engine.errors import NoSuchEngine
from services.engine.money_events import MoneyEvents
from services.engine.player_commands import request_of
from services.engine.tables import Tables
from services.engine.voiding import Voiding
from services.engine.wire import named_view

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
_MATCH_PHASES: Final = (Phase.STARTING, Phase.PLAYING, Phase.PAUSE, Phase.SETTLING)

Context = grpc.aio.ServicerContext[Any, Any]

_log = get_logger(__name__)


class OperatorServicer(engine_pb2_grpc.OperatorServiceServicer):
    """What operators ask of this engine; ``end`` asks its process to end."""

    def __init__(
        self,
        tables: Tables,
        voiding: Voiding,
        money: MoneyEvents,
        clock: Clock,
        readiness: Readiness,
        engine: str,
        address: str,
        end: Callable[[], None],
    ) -> None:
        self._tables = tables
        self._voiding = voiding
        self._money = money
        self._clock = clock
        self._readiness = readiness
        self._engine = engine
        self._address = address
        self._end = end
        self._summaries: dict[str, tuple[int, engine_pb2.TableSummary]] = {}

    async def ListTables(
        self, request: engine_pb2.ListTablesRequest, context: Context
    ) -> engine_pb2.ListTablesResponse:
        """The tables that are not closed, quarantined ones too, by id.

        A list with holes would take tables off the lobby's, so it waits until all are loaded.
        """
        await self._tables.loaded()
        size = request.page_size or _PAGE
        live = {actor.table_id: actor for actor in self._tables.live()}
        for table_id in self._summaries.keys() - live.keys():
            del self._summaries[table_id]
        ids = sorted(live.keys() | self._tables.quarantined.keys())
        wanted = [table_id for table_id in ids if table_id > request.page_token]
        page = wanted[:size]
        return engine_pb2.ListTablesResponse(
            tables=[
                self._summary(live[table_id])
                if table_id in live
                else engine_pb2.TableSummary(
                    table_id=table_id,
                    is_quarantined=True,
                    quarantine_reason=self._tables.quarantined[table_id].reason,
                )
                for table_id in page
            ],
            next_page_token=page[-1] if len(wanted) > size else "",
            is_maintenance=self._tables.is_maintenance,
        )

    async def VoidMatch(
        self, request: engine_pb2.VoidMatchRequest, context: Context
    ) -> engine_pb2.VoidMatchResponse:
        """Void the running match (M10)."""
        operator = current_identity().subject
        accepted = await self._tables.void(
            request.table_id,
            c.VoidMatch(operator, request.reason),
            request_of(operator, request, request.request_id),
        )
        return engine_pb2.VoidMatchResponse(seq=accepted.seq)

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

    async def ReleaseTable(
        self, request: engine_pb2.ReleaseTableRequest, context: Context
    ) -> engine_pb2.ReleaseTableResponse:
        """Load the table anew."""
        actor = await self._tables.release(request.table_id)
        return engine_pb2.ReleaseTableResponse(seq=actor.seq)

    async def MoveTable(
        self, request: engine_pb2.MoveTableRequest, context: Context
    ) -> engine_pb2.MoveTableResponse:
        """There is one engine so far: a table can only be moved to where it is."""
        await self._tables.get(request.table_id)
        if request.engine != self._engine:
            raise NoSuchEngine(f"{request.engine} is no member; members: {self._engine}")
        return engine_pb2.MoveTableResponse(address=self._address)

    async def Drain(
        self, request: engine_pb2.DrainRequest, context: Context
    ) -> engine_pb2.DrainResponse:
        """Take no new work, end every stream, then the process: whoever minds it starts a new one.

        This call and those under way are answered within the process's grace.
        """
        await self._readiness.block("draining")
        count = len(self._tables.live())
        self._tables.stop()
        _log.info("draining", operator=current_identity().subject, tables=count)
        self._end()
        return engine_pb2.DrainResponse(tables=count)

    async def SetMaintenance(
        self, request: engine_pb2.SetMaintenanceRequest, context: Context
    ) -> engine_pb2.SetMaintenanceResponse:
        """Refuse new tables and matches, or allow them again."""
        await self._tables.set_maintenance(request.is_on, current_identity().subject)
        running = [a for a in self._tables.live() if a.table.phase in _MATCH_PHASES]
        return engine_pb2.SetMaintenanceResponse(running_matches=len(running))

    async def QuarantineTable(
        self, request: engine_pb2.QuarantineTableRequest, context: Context
    ) -> engine_pb2.QuarantineTableResponse:
        """Make a table stand still, in the caller's name."""
        reason = f"{current_identity().subject}: {request.reason}"
        changed = await self._tables.quarantine(request.table_id, reason)
        return engine_pb2.QuarantineTableResponse(changed=changed)

    async def ExportMoneyEvents(
        self, request: engine_pb2.ExportMoneyEventsRequest, context: Context
    ) -> AsyncIterator[engine_pb2.ExportMoneyEventsResponse]:
        """Every event that moves chips."""
        async for event in self._money.of(request.table_ids, request.since_ms):
            yield event

    def _summary(self, actor: TableActor) -> engine_pb2.TableSummary:
        """Made once a row: the lobby asks for all tables every second."""
        known = self._summaries.get(actor.table_id)
        if known is None or known[0] != actor.seq:
            known = self._summaries[actor.table_id] = (actor.seq, self._summarise(actor))
        return known[1]

    def _summarise(self, actor: TableActor) -> engine_pb2.TableSummary:
        state, config = actor.table, actor.table.config
        seen = named_view(view(state, SPECTATOR), actor.seq, self._clock.now_ms(), actor.names)
        return engine_pb2.TableSummary(
            table_id=actor.table_id,
            phase=table_pb2.Phase.ValueType(state.phase),
            variant=common_pb2.Variant.ValueType(config.variant),
            mode=common_pb2.Mode.ValueType(config.mode),
            seat_count=config.seat_count,
            stake=config.stake,
            turn_timeout_ms=config.turn_timeout_ms,
            start_points=config.start_points,
            bot_level=common_pb2.BotLevel.ValueType(config.bot_level),
            house_fill_after_ms=config.house_fill_after_ms,
            kasa=state.kasa,
            match_no=state.match_no,
            seq=actor.seq,
            seats=seen.seats,
            created_ms=actor.created_ms,
        )
