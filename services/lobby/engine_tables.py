"""The engine as the lobby sees it: the truth about tables and seats."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc
from okey.rules.variant import BotLevel, Mode
from okey_runtime.channel import timeout_s
from okey_runtime.errors import from_rpc_error
from okey_runtime.service_token import AUTHORIZATION
from services.lobby.terms import Terms

_TABLE_SERVICE: Final = "/okey.api.engine.v1.TableService/"
_OPERATOR_SERVICE: Final = "/okey.api.engine.v1.OperatorService/"
IDEMPOTENT: Final = (
    *(_TABLE_SERVICE + name for name in ("OpenTable", "TakeSeat", "LeaveSeat")),
    _OPERATOR_SERVICE + "ListTables",
)
"""What may be sent again: every change carries a request_id."""

_CALL_S: Final = 5.0
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
        is_solo = terms.mode is Mode.SOLO
        request = engine_pb2.OpenTableRequest(
            request_id=request_id,
            player=player,
            display_name=display_name,
            variant=common_pb2.Variant.ValueType(terms.variant),
            mode=common_pb2.Mode.ValueType(terms.mode),
            seat_count=terms.seat_count,
            stake=terms.stake,
            turn_timeout_ms=terms.turn_timeout_ms,
            start_points=terms.start_points,
            bot_level=common_pb2.BotLevel.ValueType(bot_level if is_solo else 0),
            house_fill_after_ms=house_fill_after_ms,
            is_private=is_private,
        )
        with _as_failure():
            response = await self._tables.OpenTable(request, timeout=timeout_s(_CALL_S))
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
        with _as_failure():
            response = await self._tables.TakeSeat(request, timeout=timeout_s(_CALL_S))
        return Sitting(table_id, response.seat)

    async def leave_seat(self, table_id: str, request_id: str, authorization: str) -> None:
        """Free the seat of the player whose ``authorization`` metadata this is (W2)."""
        request = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=request_id)
        with _as_failure():
            await self._as_player.LeaveSeat(
                request, metadata=((AUTHORIZATION, authorization),), timeout=timeout_s(_CALL_S)
            )

    async def list_tables(self) -> AsyncIterator[engine_pb2.TableSummary]:
        """Every table that is not closed, by table id."""
        page_token = ""
        while True:
            request = engine_pb2.ListTablesRequest(page_size=_PAGE_SIZE, page_token=page_token)
            with _as_failure():
                page = await self._operator.ListTables(request, timeout=timeout_s(_CALL_S))
            for table in page.tables:
                yield table
            page_token = page.next_page_token
            if not page_token:
                return


@contextmanager
def _as_failure() -> Iterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error
