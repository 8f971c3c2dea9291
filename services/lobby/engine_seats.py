"""The engine's answers about seats, as quick match understands them."""

from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.errors import RpcFailure
from services.lobby.engine_calls import BOUND, GONE, NOT_THERE, asked, opening
from services.lobby.engine_tables import Sitting
from services.lobby.listed import OPEN_PHASES
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


class EngineSeats:
    """``MatchTables`` over a channel with the lobby's own token."""

    def __init__(self, own: grpc.aio.Channel) -> None:
        self._tables = engine_pb2_grpc.TableServiceStub(own)

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        """OpenTable; the same request of the same player makes one table."""
        request = opening(request_id, player, name, terms, house_fill_after_ms)
        try:
            made = await asked(self._tables.OpenTable, request)
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
            taken = await asked(self._tables.TakeSeat, request)
        except RpcFailure as failure:
            return _refusal(failure, table_id)
        return Sits(table_id, taken.seat, taken.hold_status == engine_pb2.HOLD_STATUS_HELD)

    async def leave(self, table_id: str, request_id: str, player: str) -> Sits | Unknown | None:
        """LeaveSeat for the player."""
        request = engine_pb2.LeaveSeatRequest(
            table_id=table_id, request_id=request_id, player=player
        )
        try:
            await asked(self._tables.LeaveSeat, request)
        except RpcFailure as failure:
            if failure.reason in NOT_THERE:
                return None
            if failure.reason != BOUND:
                return Unknown(str(failure))
            look = await self.look(table_id)
            chair = look.chair_of(player) if isinstance(look, Look) else None
            return Sits(table_id, chair.seat, chair.is_paid) if chair else Unknown(str(failure))
        return None

    async def seat_of(self, player: str) -> Sitting | Unknown | None:
        """WhereAmI for the player."""
        try:
            found = await asked(self._tables.WhereAmI, engine_pb2.WhereAmIRequest(player=player))
        except RpcFailure as failure:
            return Unknown(str(failure))
        return Sitting(found.table_id, found.seat) if found.table_id else None

    async def look(self, table_id: str) -> Look | Unknown | None:
        """GetTable, as a spectator sees it."""
        request = engine_pb2.GetTableRequest(table_id=table_id)
        try:
            view = (await asked(self._tables.GetTable, request)).view
        except RpcFailure as failure:
            return None if failure.reason in GONE else Unknown(str(failure))
        return seen_from(view)


def seen_from(view: table_pb2.TableView) -> Look | None:
    """Who sits at the table and whether others may, None where it is closed."""
    if view.phase == table_pb2.PHASE_CLOSED:
        return None
    chairs = [
        Chair(seat.seat, seat.player, seat.status != table_pb2.SEAT_STATUS_REQUESTED)
        for seat in view.seats
        if seat.status != table_pb2.SEAT_STATUS_FREE
    ]
    return Look(tuple(chairs), view.phase in OPEN_PHASES)


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
