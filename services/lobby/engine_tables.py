"""The engine as the lobby sees it: the truth about tables and seats."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.rules.variant import BotLevel, Mode
from services.lobby.engine_calls import asked, opening
from services.lobby.terms import Terms

_TABLE_SERVICE: Final = "/okey.api.engine.v1.TableService/"
_OPERATOR_SERVICE: Final = "/okey.api.engine.v1.OperatorService/"
IDEMPOTENT: Final = (
    *(_TABLE_SERVICE + name for name in ("OpenTable", "TakeSeat", "LeaveSeat")),
    _OPERATOR_SERVICE + "ListTables",
)
"""What may be sent again: every change carries a request_id."""

_PAGE_SIZE: Final = 500


@dataclass(frozen=True, slots=True)
class Sitting:
    """Where a player sits."""

    table_id: str
    seat: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A new table, its maker's seat, and the invite code of a private one, else empty."""

    table_id: str
    seat: int
    invite: str = field(repr=False)


class EngineTables:
    """Calls to the engine; every failed one raises ``okey_runtime.errors.RpcFailure``.

    ``own`` is a channel with the lobby's own token, ``bare`` one without any, for calls that carry
    the player's.
    """

    def __init__(self, own: grpc.aio.Channel, bare: grpc.aio.Channel) -> None:
        self._tables = engine_pb2_grpc.TableServiceStub(own)
        self._operator = engine_pb2_grpc.OperatorServiceStub(own)
        self._as_player = engine_pb2_grpc.TableServiceStub(bare)

    async def open_table(
        self,
        request_id: str,
        player: str,
        display_name: str,
        terms: Terms,
        bot_level: BotLevel = BotLevel.NORMAL,
        house_fill_after_ms: int = 0,
        is_private: bool = False,
    ) -> Opened:
        """Make a table whose seat 0 the player takes (W1)."""
        request = opening(request_id, player, display_name, terms, house_fill_after_ms)
        if terms.mode is Mode.SOLO:
            request.bot_level = common_pb2.BotLevel.ValueType(bot_level)
        request.is_private = is_private
        response = await asked(self._tables.OpenTable, request)
        return Opened(response.table_id, response.seat, response.invite)

    async def take_seat(
        self,
        table_id: str,
        request_id: str,
        player: str,
        display_name: str,
        seat: int | None = None,
        invite: str = "",
    ) -> Sitting:
        """Sit the player down on that seat, or on the first free one."""
        request = engine_pb2.TakeSeatRequest(
            table_id=table_id,
            request_id=request_id,
            player=player,
            display_name=display_name,
            seat=seat,
            invite=invite,
        )
        response = await asked(self._tables.TakeSeat, request)
        return Sitting(table_id, response.seat)

    async def leave_seat(self, table_id: str, request_id: str, authorization: str) -> None:
        """Free the seat of the player whose ``authorization`` metadata this is (W2)."""
        request = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=request_id)
        await asked(self._as_player.LeaveSeat, request, authorization)

    async def list_tables(self) -> AsyncIterator[engine_pb2.TableSummary]:
        """Every table that is not closed, by table id."""
        page_token = ""
        while True:
            request = engine_pb2.ListTablesRequest(page_size=_PAGE_SIZE, page_token=page_token)
            page = await asked(self._operator.ListTables, request)
            for table in page.tables:
                yield table
            page_token = page.next_page_token
            if not page_token:
                return
