"""This engine's tables as the lobby and operators list them."""

import asyncio
from contextlib import suppress
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, peer_pb2, table_pb2
from okey.table.view import SPECTATOR, view
from okey_runtime.clock import Clock
from services.engine.actor import TableActor
from services.engine.ownership import Ownership
from services.engine.tables import Tables
from services.engine.wire import named_view

_LOADED_WITHIN_S: Final = 1.5


class Summaries:
    """Made once a row of a table: the lobby asks for all tables every second."""

    def __init__(self, tables: Tables, ownership: Ownership, clock: Clock) -> None:
        self._tables = tables
        self._ownership = ownership
        self._clock = clock
        self._made: dict[str, tuple[int, engine_pb2.TableSummary]] = {}

    async def page(self, size: int, after: str) -> peer_pb2.ListOwnTablesResponse:
        """Tables that are not closed, quarantined ones too, by id, after this one.

        Waits a moment for tables that are being loaded; their shards are left out.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOADED_WITHIN_S):
                await self._tables.recovery.over()
        live = {actor.table_id: actor for actor in self._tables.live()}
        for table_id in self._made.keys() - live.keys():
            del self._made[table_id]
        stopped = self._tables.quarantine.tables
        wanted = sorted(t for t in live.keys() | stopped.keys() if t > after)
        return peer_pb2.ListOwnTablesResponse(
            tables=[
                self._of(live[table_id])
                if table_id in live
                else engine_pb2.TableSummary(
                    table_id=table_id,
                    is_quarantined=True,
                    quarantine_reason=stopped[table_id].reason,
                )
                for table_id in wanted[:size]
            ],
            has_more=len(wanted) > size,
            shards=sorted(self._ownership.held - self._tables.unloaded_shards()),
        )

    def _of(self, actor: TableActor) -> engine_pb2.TableSummary:
        known = self._made.get(actor.table_id)
        if known is None or known[0] != actor.seq:
            known = self._made[actor.table_id] = (actor.seq, self._summarise(actor))
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
            is_private=config.is_private,
        )
