"""The engine's answers about seats, as quick match understands them."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.channel import timeout_s
from okey_runtime.errors import RpcFailure, from_rpc_error
from services.lobby.engine_tables import Sitting
from services.lobby.match_tables import (
    Chair,
    Look,
    NoRoom,
    Refused,
    SeatAnswer,
    Sits,
    SitsElsewhere,
    Unknown,
)
from services.lobby.terms import Terms

IDEMPOTENT: Final = tuple(
    f"/okey.api.engine.v1.TableService/{name}" for name in ("LeaveSeat", "GetTable", "WhereAmI")
)
"""What the channel may send again by itself. The seating repeats the rest, and must know that it
does: a refusal of a second try does not tell what became of the first.
"""
CALL_MS: Final = 5_000
"""How long one call may take; nothing of it is under way any more after that."""

_OUTCOME_UNKNOWN: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
"""It may have taken effect, or our own token is not in order: asking again tells."""
_ENGINE_IS_FULL: Final = frozenset({"ENGINE_BUSY", "MAINTENANCE"})
_TABLE_IS_FULL: Final = frozenset(
    {
        "NO_FREE_SEAT",
        "SEAT_TAKEN",
        "NO_SUCH_SEAT",
        "SEATS_NOT_OPEN",
        "SEAT_LEFT",
        "TABLE_NOT_FOUND",
        "TABLE_CLOSED",
        "TABLE_EXISTS",
        "TABLE_BUSY",
        "REQUEST_ID_REUSED",
    }
)
_NEVER_HERE: Final = frozenset({"LEFT_BEFORE_START", "INVITE_REQUIRED"})
_GONE: Final = frozenset({"TABLE_NOT_FOUND", "TABLE_CLOSED"})
_NOT_THERE: Final = frozenset({*_GONE, "NOT_SEATED"})
_OPEN_PHASES: Final = (table_pb2.PHASE_WAITING, table_pb2.PHASE_NACHSPIEL)

_Response = TypeVar("_Response")


class EngineSeats:
    """``MatchTables`` over a channel with the lobby's own token."""

    def __init__(self, own: grpc.aio.Channel) -> None:
        self._tables = engine_pb2_grpc.TableServiceStub(own)

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        """OpenTable; the same request of the same player makes one table."""
        request = engine_pb2.OpenTableRequest(
            request_id=request_id,
            player=player,
            display_name=name,
            variant=common_pb2.Variant.ValueType(terms.variant),
            mode=common_pb2.Mode.ValueType(terms.mode),
            seat_count=terms.seat_count,
            stake=terms.stake,
            turn_timeout_ms=terms.turn_timeout_ms,
            start_points=terms.start_points,
            house_fill_after_ms=house_fill_after_ms,
        )
        try:
            made = await _asked(self._tables.OpenTable, request)
        except RpcFailure as failure:
            return _refusal(failure, "")
        return Sits(made.table_id, made.seat, made.hold_status == engine_pb2.HOLD_STATUS_HELD)

    async def take(
        self, table_id: str, request_id: str, player: str, name: str, seat: int
    ) -> SeatAnswer:
        """TakeSeat."""
        request = engine_pb2.TakeSeatRequest(
            table_id=table_id,
            request_id=request_id,
            player=player,
            display_name=name,
            seat=seat,
        )
        try:
            taken = await _asked(self._tables.TakeSeat, request)
        except RpcFailure as failure:
            return _refusal(failure, table_id)
        return Sits(table_id, taken.seat, taken.hold_status == engine_pb2.HOLD_STATUS_HELD)

    async def leave(self, table_id: str, request_id: str, player: str) -> Sits | Unknown | None:
        """LeaveSeat for the player."""
        request = engine_pb2.LeaveSeatRequest(
            table_id=table_id, request_id=request_id, player=player
        )
        try:
            await _asked(self._tables.LeaveSeat, request)
        except RpcFailure as failure:
            if failure.reason in _NOT_THERE:
                return None
            if failure.reason != "MATCH_RUNNING":
                return Unknown(str(failure))
            look = await self.look(table_id)
            chair = look.chair_of(player) if isinstance(look, Look) else None
            return Sits(table_id, chair.seat, chair.is_paid) if chair else Unknown(str(failure))
        return None

    async def seat_of(self, player: str) -> Sitting | Unknown | None:
        """WhereAmI for the player."""
        try:
            found = await _asked(self._tables.WhereAmI, engine_pb2.WhereAmIRequest(player=player))
        except RpcFailure as failure:
            return Unknown(str(failure))
        return Sitting(found.table_id, found.seat) if found.table_id else None

    async def look(self, table_id: str) -> Look | Unknown | None:
        """GetTable, as a spectator sees it."""
        request = engine_pb2.GetTableRequest(table_id=table_id)
        try:
            view = (await _asked(self._tables.GetTable, request)).view
        except RpcFailure as failure:
            return None if failure.reason in _GONE else Unknown(str(failure))
        if view.phase == table_pb2.PHASE_CLOSED:
            return None
        chairs = [
            Chair(seat.seat, seat.player, seat.status != table_pb2.SEAT_STATUS_REQUESTED)
            for seat in view.seats
            if seat.status != table_pb2.SEAT_STATUS_FREE
        ]
        return Look(tuple(chairs), view.phase in _OPEN_PHASES)


def _refusal(failure: RpcFailure, table_id: str) -> SeatAnswer:
    reason = failure.reason
    if reason == "ALREADY_SEATED":
        # Without a table named it is the one that was asked for.
        return SitsElsewhere(failure.metadata.get("table_id", table_id))
    if reason in _ENGINE_IS_FULL:
        return NoRoom(reason, is_engine=True)
    if reason in _NEVER_HERE:
        return NoRoom(reason, is_for_good=True)
    if reason in _TABLE_IS_FULL:
        return NoRoom(reason)
    if failure.code in _OUTCOME_UNKNOWN or not reason:
        return Unknown(str(failure))
    return Refused(reason)


async def _asked(method: Callable[..., Awaitable[_Response]], request: object) -> _Response:
    try:
        return await method(request, timeout=timeout_s(CALL_MS / 1000))
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error
