"""A small engine in the test's own process: tables and seats in memory, one seat a player.

It refuses what a test tells it to, as the wallet or the rules would, and can be away.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from okey.api.common.v1 import table_pb2 as common_table_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey.errors import NotFound, OkeyError, Refused, Unavailable
from okey_runtime.access import AccessTable
from okey_runtime.config import Environment, ServiceSettings
from okey_runtime.identity import Role, current_identity
from okey_runtime.server import ServiceServer
from tests.fixtures.partial_service import Methods, serve_methods

TABLES = "okey.api.engine.v1.TableService"
OPERATOR = "okey.api.engine.v1.OperatorService"
WALLET = "okey.api.wallet.v1.WalletService"
RATING = "okey.api.rating.v1.RatingService"


class AlreadySeated(Refused):
    """W3."""

    reason = "ALREADY_SEATED"

    def __init__(self, table_id: str) -> None:
        super().__init__("sits already")
        self._table_id = table_id

    @property
    def metadata(self) -> Mapping[str, str]:
        return {"table_id": self._table_id}


class NoFreeSeat(Refused):
    reason = "NO_FREE_SEAT"


class SeatTaken(Refused):
    reason = "SEAT_TAKEN"


class TableNotFound(NotFound):
    reason = "TABLE_NOT_FOUND"


class Closed(Refused):
    reason = "PLAYER_CLOSED"


class MatchRunning(Refused):
    reason = "MATCH_RUNNING"


class InsufficientFunds(Refused):
    reason = "INSUFFICIENT_FUNDS"


class Away(Unavailable):
    reason = "DATABASE_UNAVAILABLE"


class AccountNotFound(NotFound):
    reason = "ACCOUNT_NOT_FOUND"


_TERMS: Final = ("variant", "mode", "seat_count", "stake", "turn_timeout_ms", "start_points")
"""What summary and view tell of a table under the names that it was opened with."""


@dataclass
class Table:
    """A table that waits, or plays if the test says so."""

    opened_by: engine_pb2.OpenTableRequest
    phase: table_pb2.Phase.ValueType = table_pb2.PHASE_WAITING
    kasa: int = 0
    is_quarantined: bool = False
    legal_actions: list[table_pb2.LegalAction.ValueType] = field(default_factory=list)
    deciding: set[str] = field(default_factory=set)
    players: dict[int, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def summary(self, table_id: str) -> engine_pb2.TableSummary:
        return engine_pb2.TableSummary(
            table_id=table_id,
            phase=self.phase,
            **self._terms(),
            bot_level=self.opened_by.bot_level,
            kasa=self.kasa,
            seats=self.seats(),
            is_quarantined=self.is_quarantined,
        )

    def config(self, table_id: str) -> common_table_pb2.TableConfig:
        return common_table_pb2.TableConfig(
            table_id=table_id,
            **self._terms(),
        )

    def _terms(self) -> dict[str, Any]:
        return {name: getattr(self.opened_by, name) for name in _TERMS}

    def seats(self) -> list[table_pb2.SeatView]:
        return [self._seat(seat) for seat in range(self.opened_by.seat_count)]

    def _seat(self, seat: int) -> table_pb2.SeatView:
        player = self.players.get(seat, "")
        status = table_pb2.SEAT_STATUS_PAID if player else table_pb2.SEAT_STATUS_FREE
        if player in self.deciding:
            status = table_pb2.SEAT_STATUS_DECIDING
        return table_pb2.SeatView(
            seat=seat,
            status=status,
            control=table_pb2.CONTROL_PERSON if player else table_pb2.CONTROL_NOBODY,
            player=player,
            display_name=self.names.get(player, ""),
        )


class FakeEngine:
    """The truth about seats; ``refused`` names players whose next seats are refused, and why.

    After seating a player out of ``lost_replies`` the engine is away, so that nobody learns of it.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.refused: dict[str, OkeyError] = {}
        self.lost_replies: set[str] = set()
        self.accepted: dict[tuple[str, str], int] = {}
        self.is_away = False
        self.page_size = 500
        self.lost_pages: set[str] = set()
        self.times_listed = 0
        self.may_list = asyncio.Event()
        """Cleared, it keeps back the list that is asked for next."""
        self.may_list.set()
        self.is_listing = asyncio.Event()
        self.closing: dict[str, int] = {}
        """How often players are still told where they sit before their ids are closed."""
        self.whereabouts_are_lost = False
        self.before_looks: defaultdict[str, deque[Callable[[], Awaitable[object]]]] = defaultdict(
            deque
        )
        """What happens before a player's next looks for its seat are answered, one by one."""
        self.leaving_fails: OkeyError | None = None
        self.may_leave = asyncio.Event()
        """Cleared, it keeps back who leaves."""
        self.may_leave.set()
        self.is_leaving = asyncio.Event()

    def put(self, table_id: str, opened: engine_pb2.OpenTableRequest, **players: int) -> Table:
        """A table that is there before the test begins, with these players on those seats."""
        table = Table(opened, players={seat: player for player, seat in players.items()})
        self.tables[table_id] = table
        return table

    def where(self, player: str) -> tuple[str, int] | None:
        for table_id, table in self.tables.items():
            for seat, sitting in table.players.items():
                if sitting == player:
                    return table_id, seat
        return None

    def sitting(self) -> list[list[str]]:
        """Who sits together, sorted."""
        return sorted(sorted(table.players.values()) for table in self.tables.values())

    async def OpenTable(
        self, request: engine_pb2.OpenTableRequest, context: object
    ) -> engine_pb2.OpenTableResponse:
        if self.is_away:
            raise Away("away")
        for table_id, table in self.tables.items():
            same = table.opened_by.request_id == request.request_id
            if same and table.opened_by.player == request.player:
                return engine_pb2.OpenTableResponse(table_id=table_id, seat=0)
        self._check(request.player)
        table_id = f"{len(self.tables):026d}"
        self.tables[table_id] = Table(request)
        self._sit(table_id, request.player, request.display_name, 0)
        return engine_pb2.OpenTableResponse(
            table_id=table_id, seat=0, hold_status=engine_pb2.HOLD_STATUS_HELD
        )

    async def TakeSeat(
        self, request: engine_pb2.TakeSeatRequest, context: object
    ) -> engine_pb2.TakeSeatResponse:
        if self.is_away:
            raise Away("away")
        table = self.tables.get(request.table_id)
        if table is None:
            raise TableNotFound(request.table_id)
        known = self.accepted.get((request.player, request.request_id))
        if known is not None:
            return engine_pb2.TakeSeatResponse(seat=known)
        self._check(request.player)
        free = [s for s in range(table.opened_by.seat_count) if s not in table.players]
        if not free:
            raise NoFreeSeat(request.table_id)
        seat = request.seat if request.HasField("seat") else free[0]
        if seat not in free:
            raise SeatTaken(str(seat))
        self.accepted[request.player, request.request_id] = seat
        self._sit(request.table_id, request.player, request.display_name, seat)
        return engine_pb2.TakeSeatResponse(seat=seat, hold_status=engine_pb2.HOLD_STATUS_HELD)

    async def LeaveSeat(
        self, request: engine_pb2.LeaveSeatRequest, context: object
    ) -> engine_pb2.LeaveSeatResponse:
        player = request.player or current_identity().subject
        self.is_leaving.set()
        await self.may_leave.wait()
        if self.leaving_fails is not None:
            raise self.leaving_fails
        table = self.tables.get(request.table_id)
        if table is None:
            raise TableNotFound(request.table_id)
        table.players = {s: name for s, name in table.players.items() if name != player}
        if not table.players:
            table.phase = table_pb2.PHASE_CLOSED
        return engine_pb2.LeaveSeatResponse(seq=1)

    async def WhereAmI(
        self, request: engine_pb2.WhereAmIRequest, context: object
    ) -> engine_pb2.WhereAmIResponse:
        if self.is_away or self.whereabouts_are_lost:
            raise Away("away")
        player = current_identity().subject
        if self.before_looks[player]:
            await self.before_looks[player].popleft()()
        if player in self.closing:
            self.closing[player] -= 1
            if self.closing[player] < 0:
                raise Closed(player)
        found = self.where(player)
        table_id, seat = found or ("", -1)
        return engine_pb2.WhereAmIResponse(table_id=table_id, seat=seat)

    async def GetTable(
        self, request: engine_pb2.GetTableRequest, context: object
    ) -> engine_pb2.GetTableResponse:
        table, caller = self.tables[request.table_id], current_identity().subject
        seats = {name: seat for seat, name in table.players.items()}
        view = table_pb2.TableView(
            config=table.config(request.table_id),
            phase=table.phase,
            seats=table.seats(),
            viewer=seats.get(caller, -1),
            legal_actions=table.legal_actions,
        )
        return engine_pb2.GetTableResponse(view=view)

    async def ListTables(
        self, request: engine_pb2.ListTablesRequest, context: object
    ) -> engine_pb2.ListTablesResponse:
        if self.is_away:
            raise Away("away")
        if request.page_token in self.lost_pages:
            raise Away("away for a moment")
        self.times_listed += 1
        ids = sorted(table_id for table_id in self.tables if table_id > request.page_token)
        page = ids[: self.page_size]
        listed = engine_pb2.ListTablesResponse(
            tables=[self.tables[table_id].summary(table_id) for table_id in page],
            next_page_token=page[-1] if len(ids) > len(page) else "",
        )
        self.is_listing.set()
        await self.may_list.wait()
        return listed

    def _check(self, player: str) -> None:
        if player in self.refused:
            raise self.refused[player]
        found = self.where(player)
        if found is not None:
            raise AlreadySeated(found[0])

    def _sit(self, table_id: str, player: str, name: str, seat: int) -> None:
        self.tables[table_id].players[seat] = player
        self.tables[table_id].names[player] = name
        if player in self.lost_replies:
            self.is_away = True
            raise Away("the reply was lost")


class FakeWallet:
    """Knows one balance: the bot bank's, or that it was never used."""

    def __init__(self) -> None:
        self.bot_bank: int | None = None

    async def GetAccount(
        self, request: wallet_pb2.GetAccountRequest, context: object
    ) -> wallet_pb2.GetAccountResponse:
        assert request.account == "house:bot_bank"
        if self.bot_bank is None:
            raise AccountNotFound(request.account)
        return wallet_pb2.GetAccountResponse(account=request.account, balance=self.bot_bank)


class FakeRating:
    """Everybody's ratings; who is not named has 1200 points."""

    def __init__(self) -> None:
        self.ratings: dict[str, int] = {}
        self.is_away = False

    async def GetRatings(
        self, request: rating_pb2.GetRatingsRequest, context: object
    ) -> rating_pb2.GetRatingsResponse:
        if self.is_away:
            raise Away("away")
        return rating_pb2.GetRatingsResponse(
            ratings=[
                rating_pb2.Rating(
                    player_id=player,
                    ladder=request.ladder,
                    rating_milli=self.ratings.get(player, 1_200_000),
                )
                for player in request.player_ids
            ]
        )


class FakeApp:
    """All on one port, with the roles of the real ones."""

    services = (TABLES, OPERATOR, WALLET, RATING)
    access = (
        AccessTable.of(
            TABLES,
            {
                "OpenTable": {Role.LOBBY},
                "TakeSeat": {Role.LOBBY},
                "LeaveSeat": {Role.PLAYER, Role.LOBBY},
                "WhereAmI": {Role.PLAYER},
                "GetTable": {Role.PLAYER, Role.LOBBY},
            },
        )
        | AccessTable.of(OPERATOR, {"ListTables": {Role.LOBBY}})
        | AccessTable.of(WALLET, {"GetAccount": {Role.LOBBY}})
        | AccessTable.of(RATING, {"GetRatings": {Role.LOBBY}})
    )

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.engine = FakeEngine()
        self.wallet = FakeWallet()
        self.rating = FakeRating()

    async def start(self, host: ServiceServer) -> None:
        engine, wallet = self.engine, self.wallet
        tables: Methods = {
            "OpenTable": (engine.OpenTable, engine_pb2.OpenTableRequest),
            "TakeSeat": (engine.TakeSeat, engine_pb2.TakeSeatRequest),
            "LeaveSeat": (engine.LeaveSeat, engine_pb2.LeaveSeatRequest),
            "WhereAmI": (engine.WhereAmI, engine_pb2.WhereAmIRequest),
            "GetTable": (engine.GetTable, engine_pb2.GetTableRequest),
        }
        serve_methods(host, TABLES, tables)
        serve_methods(
            host, OPERATOR, {"ListTables": (engine.ListTables, engine_pb2.ListTablesRequest)}
        )
        serve_methods(
            host, RATING, {"GetRatings": (self.rating.GetRatings, rating_pb2.GetRatingsRequest)}
        )
        serve_methods(
            host, WALLET, {"GetAccount": (wallet.GetAccount, wallet_pb2.GetAccountRequest)}
        )

    async def drain(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""


@asynccontextmanager
async def fake_engine(jwks_file: Path) -> AsyncIterator[tuple[FakeApp, str]]:
    """The running fakes and their address."""
    settings = ServiceSettings(environment=Environment.TEST, jwks_file=jwks_file, stop_grace_ms=0)
    app = FakeApp(settings)
    async with ServiceServer(app, names=("engine", "wallet", "rating")) as server:
        yield app, server.address
