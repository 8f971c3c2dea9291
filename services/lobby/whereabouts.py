"""Where a player sits already, and whether it is still bound there (W3)."""

from dataclasses import dataclass
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.errors import RpcFailure
from services.lobby.engine_calls import BOUND, NOT_THERE, asked
from services.lobby.engine_tables import Sitting
from services.lobby.terms import Terms
from services.lobby.wire import terms_from

_MATCH_IS_OVER: Final = (
    table_pb2.PHASE_PLAYING,
    table_pb2.PHASE_PAUSE,
    table_pb2.PHASE_SETTLING,
)
"""Phases in which leaving is open only to those whose match is over (K6, M1)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a player sits, and what is played for there. Who only decides about the Nachspiel, or
    whose match is over, is done there; everybody else is bound to it (W3).
    """

    sitting: Sitting
    terms: Terms
    is_done: bool


class Whereabouts:
    """Asks the engine in the player's own name, over a channel without a token of its own."""

    def __init__(self, bare: grpc.aio.Channel) -> None:
        self._tables = engine_pb2_grpc.TableServiceStub(bare)

    async def of(self, authorization: str) -> Place | None:
        """Where the player of that ``authorization`` metadata sits, None if nowhere.

        Raises:
            RpcFailure: the player's id is closed for good (``CLOSED``), or the engine could not be
                asked.
        """
        found = await asked(self._tables.WhereAmI, engine_pb2.WhereAmIRequest(), authorization)
        if not found.table_id:
            return None
        request = engine_pb2.GetTableRequest(table_id=found.table_id)
        try:
            seen = await asked(self._tables.GetTable, request, authorization)
        except RpcFailure as failure:
            if failure.reason in NOT_THERE:
                return None
            raise
        terms = terms_from(seen.view.config)
        return Place(Sitting(found.table_id, found.seat), terms, is_done(seen.view))

    async def may_sit_at(self, table_id: str, authorization: str) -> bool:
        """Whether the player sits at that table, or nobody can say."""
        try:
            found = await asked(self._tables.WhereAmI, engine_pb2.WhereAmIRequest(), authorization)
        except RpcFailure:
            return True
        return found.table_id == table_id

    async def leave(self, authorization: str, table_id: str, request_id: str) -> bool:
        """Give the player's seat up, free of charge; False where it is bound to a match now.

        Raises:
            RpcFailure: nobody knows whether the player still sits there.
        """
        request = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=request_id)
        try:
            await asked(self._tables.LeaveSeat, request, authorization)
        except RpcFailure as failure:
            if failure.reason == BOUND:
                return False
            if failure.reason not in NOT_THERE:
                raise
        return True


def is_done(view: table_pb2.TableView) -> bool:
    """Whether the viewer's match is over and it has not paid for the next one."""
    if view.viewer < 0:
        return False
    may_leave = table_pb2.LEGAL_ACTION_LEAVE in view.legal_actions
    is_deciding = view.seats[view.viewer].status == table_pb2.SEAT_STATUS_DECIDING
    return may_leave and (is_deciding or view.phase in _MATCH_IS_OVER)
