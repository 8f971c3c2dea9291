"""The engine over gRPC, as the audit needs it."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.api.wallet.v1 import wallet_pb2
from okey_runtime.errors import from_rpc_error
from services.wallet import wire
from services.wallet.command import CloseTable, Command, VoidHold, VoidMatch
from services.wallet.engine_events import EngineAway, MoneyEvent, UnreadableTable

_EXPORT_TIMEOUT_S: Final = 600.0
_TIMEOUT_S: Final = 10.0

Request = (
    wallet_pb2.HoldStakeRequest
    | wallet_pb2.VoidHoldRequest
    | wallet_pb2.StartMatchRequest
    | wallet_pb2.ForfeitSeatRequest
    | wallet_pb2.SettleMatchRequest
    | wallet_pb2.VoidMatchRequest
    | wallet_pb2.CloseTableRequest
)


class EngineClient:
    """One engine's operators' service."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = engine_pb2_grpc.OperatorServiceStub(channel)

    async def money_events(
        self, table_ids: Sequence[str] = (), since_ms: int = 0
    ) -> AsyncIterator[MoneyEvent | UnreadableTable]:
        """Every money event of these tables, or of recent ones. Raises ``EngineAway``."""
        request = engine_pb2.ExportMoneyEventsRequest(table_ids=table_ids, since_ms=since_ms)
        try:
            async for each in self._stub.ExportMoneyEvents(request, timeout=_EXPORT_TIMEOUT_S):
                yield _event(each)
        except grpc.aio.AioRpcError as error:
            raise EngineAway(str(from_rpc_error(error))) from error

    async def quarantine(self, table_id: str, reason: str) -> bool:
        """Make the table stand still; whether it did not before. Raises ``EngineAway``."""
        request = engine_pb2.QuarantineTableRequest(table_id=table_id, reason=reason)
        try:
            return (await self._stub.QuarantineTable(request, timeout=_TIMEOUT_S)).changed
        except grpc.aio.AioRpcError as error:
            raise EngineAway(str(from_rpc_error(error))) from error


def _event(found: engine_pb2.ExportMoneyEventsResponse) -> MoneyEvent | UnreadableTable:
    match found.WhichOneof("request"):
        case "hold_stake":
            return _money(found, found.hold_stake, wire.hold_from(found.hold_stake))
        case "void_hold":
            return _money(found, found.void_hold, VoidHold(hold_id=found.void_hold.hold_id))
        case "start_match":
            return _money(found, found.start_match, wire.start_from(found.start_match))
        case "forfeit_seat":
            return _money(found, found.forfeit_seat, wire.forfeit_from(found.forfeit_seat))
        case "settle_match":
            return _money(found, found.settle_match, wire.settle_from(found.settle_match))
        case "void_match":
            return _money(found, found.void_match, VoidMatch(match_id=found.void_match.match_id))
        case "close_table":
            table_id = found.close_table.table_id
            return _money(found, found.close_table, CloseTable(table_id=table_id))
        case _:
            return UnreadableTable(found.table_id)


def _money(
    found: engine_pb2.ExportMoneyEventsResponse, request: Request, command: Command
) -> MoneyEvent:
    return MoneyEvent(request.idempotency_key, found.table_id, command, found.is_told)
