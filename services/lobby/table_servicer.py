"""The half of LobbyService that is about tables; who calls is told by the token."""

from collections.abc import AsyncIterator, Awaitable, Callable

from okey.api.lobby.v1 import lobby_pb2
from okey.rules.variant import BotLevel, Mode
from okey_runtime.identity import current_identity
from okey_runtime.interceptors import ends_itself
from services.lobby.bot_bank import BotBank
from services.lobby.caller import Context, authorization_of
from services.lobby.engine_tables import EngineTables
from services.lobby.limits import Kind, Limits
from services.lobby.list_watching import ListWatches
from services.lobby.table_list import TableList
from services.lobby.wire import terms_from


class TableServicer:
    """Makes, lists, watches, joins and leaves tables.

    ``sat_down`` hears which player has sat down at which table without quick match, with the
    player's metadata: its ticket ends.
    """

    def __init__(
        self,
        engine: EngineTables,
        bot_bank: BotBank,
        tables: TableList,
        watches: ListWatches,
        limits: Limits,
        sat_down: Callable[[str, str, str], Awaitable[None]],
    ) -> None:
        self._engine = engine
        self._bot_bank = bot_bank
        self._tables = tables
        self._watches = watches
        self._limits = limits
        self._sat_down = sat_down

    async def CreateTable(
        self, request: lobby_pb2.CreateTableRequest, context: Context
    ) -> lobby_pb2.CreateTableResponse:
        """W1, O1, M7."""
        caller = current_identity()
        terms = terms_from(request.terms)
        bot_level = BotLevel(request.bot_level or BotLevel.NORMAL)
        terms.check(bot_level, request.house_fill_after_ms)
        await self._limits.count(Kind.MAKING, caller.subject, request)
        if terms.mode is Mode.SOLO:
            await self._bot_bank.require_open()
        opened = await self._engine.open_table(
            request.request_id,
            caller.subject,
            caller.name,
            terms,
            bot_level,
            request.house_fill_after_ms,
            request.is_private,
        )
        await self._sat_down(caller.subject, opened.table_id, authorization_of(context))
        return lobby_pb2.CreateTableResponse(
            table_id=opened.table_id, seat=opened.seat, invite=opened.invite
        )

    async def ListTables(
        self, request: lobby_pb2.ListTablesRequest, context: Context
    ) -> lobby_pb2.ListTablesResponse:
        """A page of the copy of the engine's list."""
        return (await self._tables.newest()).page(request)

    @ends_itself
    async def WatchTables(
        self, request: lobby_pb2.WatchTablesRequest, context: Context
    ) -> AsyncIterator[lobby_pb2.WatchTablesResponse]:
        """The first page, then its changes."""
        async for step in self._watches.follow(request.tables, current_identity()):
            yield step

    async def JoinTable(
        self, request: lobby_pb2.JoinTableRequest, context: Context
    ) -> lobby_pb2.JoinTableResponse:
        """W1, W3."""
        caller = current_identity()
        await self._limits.count(Kind.JOINING, caller.subject, request)
        sitting = await self._engine.take_seat(
            request.table_id,
            request.request_id,
            caller.subject,
            caller.name,
            request.seat if request.HasField("seat") else None,
            request.invite,
        )
        await self._sat_down(caller.subject, request.table_id, authorization_of(context))
        return lobby_pb2.JoinTableResponse(seat=sitting.seat)

    async def LeaveTable(
        self, request: lobby_pb2.LeaveTableRequest, context: Context
    ) -> lobby_pb2.LeaveTableResponse:
        """W2, M1."""
        player = current_identity().subject
        await self._limits.count(Kind.LEAVING, player, request)
        await self._engine.leave_seat(
            request.table_id, request.request_id, authorization_of(context)
        )
        return lobby_pb2.LeaveTableResponse()
