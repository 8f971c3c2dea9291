"""Tables at which money moves in every way, with callers who ask until they are answered."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_runtime.identity import Role
from tests.chaos.money.stand import WELCOME, Stand

_TIMEOUT_S: Final = 3.0
_PAUSE_S: Final = 0.05
_REFUSALS: Final = frozenset(
    {
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)
_numbers = count(1)

Stub = engine_pb2_grpc.TableServiceStub


class Refused(Exception):
    """The engine's last word on a request."""


class Load:
    """Plays tables one after another, several at a time, until it is told to stop."""

    def __init__(self, stand: Stand) -> None:
        self.acknowledged: Final[list[tuple[str, str, int]]] = []
        """(table, request, row) of every accepted request that names a row."""
        self.leaving: Final[dict[str, str]] = {}
        """By request to leave, the player."""
        self.tables: Final[list[str]] = []
        self._stand = stand
        self._is_stopping = asyncio.Event()
        self._has_moved = asyncio.Event()

    async def start(self) -> None:
        lobby = await self._stand.channel("lobby", Role.LOBBY)
        operator = await self._stand.channel("op", Role.OPERATOR)
        self._lobby = Stub(lobby)
        self._operator = engine_pb2_grpc.OperatorServiceStub(operator)

    async def play(self, at_once: int) -> None:
        """Play until ``finish``; returns when every table that was begun is closed."""
        self._is_stopping.clear()
        await asyncio.gather(*(self._play(lane) for lane in range(at_once)))

    async def moves(self) -> None:
        """Return once the engine has accepted something after this was called."""
        self._has_moved.clear()
        await self._has_moved.wait()

    def finish(self) -> None:
        """Begin no more tables."""
        self._is_stopping.set()

    async def _play(self, lane: int) -> None:
        ways = (self._leave, self._forfeit, self._void, self._decline, self._klasik)
        turn = lane
        while not self._is_stopping.is_set():
            await ways[turn % len(ways)](next(_numbers))
            turn += 1

    # Ways -----------------------------------------------------------------------------------------

    async def _leave(self, number: int) -> None:
        """M1: both pay and leave."""
        players = await self._seat(number, stake=100)
        await self._close(*players)

    async def _forfeit(self, number: int) -> None:
        """M8, M9: both give up, the house wins."""
        players = await self._seat(number, stake=100)
        await self._until_playing(players)
        await self._close(*players)

    async def _klasik(self, number: int) -> None:
        """K7: the same in Klasik."""
        klasik = common_pb2.VARIANT_KLASIK
        players = await self._seat(number, stake=100, variant=klasik, start_points=3)
        await self._until_playing(players)
        await self._close(*players)

    async def _void(self, number: int) -> None:
        """M10: an operator voids the match; both leave."""
        players = await self._seat(number, stake=100)
        await self._until_playing(players)
        request = engine_pb2.VoidMatchRequest(
            table_id=self.tables_of(players), request_id=self._request_id(), reason="a test"
        )
        await self._try(self._operator.VoidMatch, request)
        await self._close(*players)

    async def _decline(self, number: int) -> None:
        """M2: who cannot pay gets no seat; the other one leaves."""
        players = await self._seat(number, stake=2 * WELCOME)
        await self._close(*players)

    # Steps ----------------------------------------------------------------------------------------

    @staticmethod
    def tables_of(players: "tuple[_Player, ...]") -> str:
        """The players' table."""
        return players[0].table_id

    async def _seat(self, number: int, **terms: Any) -> "tuple[_Player, ...]":
        names = [f"player-{number}-{seat}" for seat in range(2)]
        request = engine_pb2.OpenTableRequest(
            request_id=self._request_id(),
            player=names[0],
            seat_count=2,
            turn_timeout_ms=120_000,
            **terms,
        )
        opened = await self._ask(self._lobby.OpenTable, request)
        table_id: str = opened.table_id
        self.tables.append(table_id)
        players = tuple([await self._player(name, table_id) for name in names])
        join = engine_pb2.TakeSeatRequest(
            table_id=table_id, request_id=self._request_id(), player=names[1]
        )
        await self._try(self._lobby.TakeSeat, join)
        return players

    async def _until_playing(self, players: "tuple[_Player, ...]") -> None:
        playing = (table_pb2.PHASE_PLAYING, table_pb2.PHASE_CLOSED)
        while True:
            if (await self._look(players[0])).phase in playing:
                return
            await asyncio.sleep(_PAUSE_S)

    async def _close(self, *players: "_Player") -> None:
        """Everybody goes, at a price if need be, until the table has closed."""
        while True:
            for player in players:
                if (await self._look(player)).phase == table_pb2.PHASE_CLOSED:
                    return
                for method, request in player.ways_out(self._request_id):
                    self.leaving[request.request_id] = player.name
                    if await self._try(method, request):
                        break
            await asyncio.sleep(_PAUSE_S)

    async def _look(self, player: "_Player") -> table_pb2.TableView:
        request = engine_pb2.GetTableRequest(table_id=player.table_id)
        view: table_pb2.TableView = (await self._ask(player.stub.GetTable, request)).view
        return view

    async def _player(self, name: str, table_id: str) -> "_Player":
        return _Player(name, table_id, Stub(await self._stand.channel(name, Role.PLAYER)))

    def _request_id(self) -> str:
        return f"request-{next(_numbers)}"

    async def _try(self, method: Callable[..., Awaitable[Any]], request: Any) -> bool:
        """Whether the request was accepted in the end."""
        try:
            await self._ask(method, request)
        except Refused:
            return False
        return True

    async def _ask(self, method: Callable[..., Awaitable[Any]], request: Any) -> Any:
        """Ask, always the same, until there is an answer. Raises ``Refused``."""
        while True:
            try:
                answer = await method(request, timeout=_TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                if error.code() in _REFUSALS:
                    raise Refused(error.details()) from error
                await asyncio.sleep(_PAUSE_S)
                continue
            seq = getattr(answer, "seq", 0)
            if seq:
                self.acknowledged.append((request.table_id, request.request_id, seq))
                self._has_moved.set()
            return answer


class _Player:
    def __init__(self, name: str, table_id: str, stub: Stub) -> None:
        self.name = name
        self.table_id = table_id
        self.stub = stub

    def ways_out(
        self, request_id: Callable[[], str]
    ) -> list[tuple[Callable[..., Awaitable[Any]], Any]]:
        """Leaving for nothing first, else giving up."""
        leave = engine_pb2.LeaveSeatRequest(table_id=self.table_id, request_id=request_id())
        forfeit = engine_pb2.ForfeitRequest(table_id=self.table_id, request_id=request_id())
        return [(self.stub.LeaveSeat, leave), (self.stub.Forfeit, forfeit)]
