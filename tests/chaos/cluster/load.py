"""A load for a cluster: tables opened at any engine, some found by quick match through lobbies."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any, Final

import grpc

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from okey_runtime.clock import Clock
from tests.chaos.cluster.stand import ClusterStand
from tests.chaos.tables.link import NoAnswer, Refused
from tests.chaos.tables.load import Load
from tests.chaos.tables.script import Pace

_CALL_TIMEOUT_S: Final = 5.0
_PAUSE_S: Final = 0.2
_TICKET_WAIT_S: Final = 10.0


class ClusterLoad(Load):
    """``pairs`` lanes beside the others find their tables by quick match."""

    def __init__(
        self,
        stand: ClusterStand,
        clock: Clock,
        seed: int,
        pace: Pace,
        turn_timeout_ms: int,
        pairs: int,
    ) -> None:
        super().__init__(stand, clock, seed, pace, turn_timeout_ms)
        self.quick_matches = 0
        self._cluster = stand
        self._pairs = pairs
        self._tickets = lobby_pb2_grpc.LobbyServiceStub(stand.lobby_channel())
        self._numbers_of_pairs = count(1)

    async def play(self, tables: int, ramp_s: float) -> None:
        """Play so many tables, and those of the pairs."""
        chances = [Random(f"{self._seed}-pair-{pair}") for pair in range(self._pairs)]
        pairs = [self._pair(chance) for chance in chances]
        await asyncio.gather(super().play(tables, ramp_s), *pairs)

    async def _opened(self, table_id: str) -> None:
        request = engine_pb2.LocateTableRequest(table_id=table_id)
        try:
            located = await self._lobby.unary(self._lobby.stub.LocateTable, request)
        except (NoAnswer, Refused):
            # Nothing is known then of its engine's outages, and they excuse nothing.
            self._cluster.first_owners[table_id] = ""
        else:
            self._cluster.first_owners[table_id] = located.engine

    async def _pair(self, chance: Random) -> None:
        """Two people who look for a match again and again."""
        while not self._leaving.is_set():
            number = next(self._numbers_of_pairs)
            names = [f"pair-{number}-{seat}" for seat in range(2)]
            await asyncio.gather(*(self._matched(name, chance) for name in names))

    async def _matched(self, name: str, chance: Random) -> None:
        """One of them, who plays where it sits, at once and whomever it was matched with."""
        table_id = await self._seated(name)
        if not table_id:
            return
        player = self._player(table_id, name, chance)
        player.history.is_matched = True
        playing = [player.play()]
        if table_id not in self._cluster.first_owners:
            self._cluster.first_owners[table_id] = ""
            self.quick_matches += 1
            playing.append(self._opened(table_id))
        await asyncio.gather(*playing)

    async def _seated(self, name: str) -> str:
        """The table at which a ticket has sat the player down; "" where it is time to go."""
        caller = self._stand.caller(name)
        terms = lobby_pb2.TableTerms(
            variant=common_pb2.VARIANT_CANAK, seat_count=2, stake=100, turn_timeout_ms=15_000
        )
        while True:
            # The seat is the engine's to tell: a ticket may be lost with all of Valkey.
            where = await self._tried(caller.stub.WhereAmI, engine_pb2.WhereAmIRequest(), caller)
            if where is not None and where.table_id:
                return str(where.table_id)
            if self._leaving.is_set():
                request = lobby_pb2.CancelTicketRequest()
                await self._tried(self._tickets.CancelTicket, request, caller)
                where = await self._tried(
                    caller.stub.WhereAmI, engine_pb2.WhereAmIRequest(), caller
                )
                if where is not None and not where.table_id:
                    return ""
                continue
            request_ticket = lobby_pb2.EnqueueTicketRequest(terms=terms)
            await self._tried(self._tickets.EnqueueTicket, request_ticket, caller)
            await self._watch(caller.metadata)

    async def _watch(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Follow the ticket until it is over, breaks, or a while has passed."""
        call = self._tickets.WatchTicket(lobby_pb2.WatchTicketRequest(), metadata=metadata)
        try:
            async with asyncio.timeout(_TICKET_WAIT_S):
                async for message in call:
                    if message.ticket.state not in _LIVE:
                        return
        except (grpc.aio.AioRpcError, TimeoutError):
            await asyncio.sleep(_PAUSE_S)
        finally:
            call.cancel()

    async def _tried(self, method: Callable[..., Awaitable[Any]], request: Any, caller: Any) -> Any:
        """The answer, or None where there is none or it is a refusal."""
        try:
            return await caller.unary(method, request)
        except (NoAnswer, Refused):
            await asyncio.sleep(_PAUSE_S)
            return None


_LIVE: Final = (lobby_pb2.TICKET_STATE_WAITING, lobby_pb2.TICKET_STATE_SEATING)
