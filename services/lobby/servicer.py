"""LobbyService: its two halves as the one service that the proto names, and who may call what."""

from typing import Final

from okey.api.lobby.v1 import lobby_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.identity import Role
from services.lobby.bot_bank import BotBank
from services.lobby.engine_tables import EngineTables
from services.lobby.limits import Limits
from services.lobby.list_watching import ListWatches
from services.lobby.table_list import TableList
from services.lobby.table_servicer import TableServicer
from services.lobby.ticket_servicer import QuickMatch, TicketServicer

SERVICE: Final = "okey.api.lobby.v1.LobbyService"

ACCESS: Final = AccessTable.of(
    SERVICE,
    {
        name: {Role.PLAYER}
        for name in (
            "CreateTable",
            "ListTables",
            "WatchTables",
            "JoinTable",
            "LeaveTable",
            "EnqueueTicket",
            "GetTicket",
            "WatchTicket",
            "CancelTicket",
        )
    },
    {"CreateTable": 5, "ListTables": 5, "WatchTables": 5},
)


class LobbyServicer(TableServicer, TicketServicer, lobby_pb2_grpc.LobbyServiceServicer):
    """Serves players; requests were checked for shape and role before they come here."""

    def __init__(
        self,
        engine: EngineTables,
        bot_bank: BotBank,
        tables: TableList,
        watches: ListWatches,
        limits: Limits,
        quick_match: QuickMatch,
    ) -> None:
        TicketServicer.__init__(self, quick_match, limits)
        sat_down = quick_match.asking.sat_down
        TableServicer.__init__(self, engine, bot_bank, tables, watches, limits, sat_down)
