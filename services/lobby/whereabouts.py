"""Where a player sits already, and whether it is still bound there (W3)."""

from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.channel import timeout_s
from okey_runtime.errors import from_rpc_error
from okey_runtime.service_token import AUTHORIZATION
from services.lobby.engine_tables import Sitting

_CALL_S: Final = 5.0
_MATCH_IS_OVER: Final = (
    table_pb2.PHASE_PLAYING,
    table_pb2.PHASE_PAUSE,
    table_pb2.PHASE_SETTLING,
)
"""Phases in which leaving is open only to those whose match is over (K6, M1)."""
_NOT_THERE: Final = frozenset({"NOT_SEATED", "TABLE_CLOSED", "TABLE_NOT_FOUND"})


class Whereabouts:
    """Asks the engine in the player's own name, over a channel without a token of its own."""

    def __init__(self, bare: grpc.aio.Channel) -> None:
        self._tables = engine_pb2_grpc.TableServiceStub(bare)

    async def bound_to(self, authorization: str, request_id: str) -> Sitting | None:
        """The seat to which the player of that ``authorization`` metadata is led back.

        Who only decides about the Nachspiel, or is done with its match, wants another one: it
        leaves, free of charge, and is bound to nothing any more.

        Raises:
            RpcFailure: the engine could not be asked.
        """
        metadata = ((AUTHORIZATION, authorization),)
        try:
            found = await self._tables.WhereAmI(
                engine_pb2.WhereAmIRequest(), metadata=metadata, timeout=timeout_s(_CALL_S)
            )
            if not found.table_id:
                return None
            seen = await self._tables.GetTable(
                engine_pb2.GetTableRequest(table_id=found.table_id),
                metadata=metadata,
                timeout=timeout_s(_CALL_S),
            )
            if not _is_done(seen.view):
                return Sitting(found.table_id, found.seat)
            await self._tables.LeaveSeat(
                engine_pb2.LeaveSeatRequest(table_id=found.table_id, request_id=request_id),
                metadata=metadata,
                timeout=timeout_s(_CALL_S),
            )
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if failure.reason not in _NOT_THERE:
                raise failure from error
        return None


def _is_done(view: table_pb2.TableView) -> bool:
    """Whether the viewer's match is over and it has not paid for the next one."""
    if view.viewer < 0:
        return False
    may_leave = table_pb2.LEGAL_ACTION_LEAVE in view.legal_actions
    is_deciding = view.seats[view.viewer].status == table_pb2.SEAT_STATUS_DECIDING
    return may_leave and (is_deciding or view.phase in _MATCH_IS_OVER)
