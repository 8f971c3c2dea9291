"""Tables that are played by scripted clients, one after another in a few lanes at once."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any, Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.identity import Role
from tests.chaos.tables.asking import until_answered
from tests.chaos.tables.client import Player, Spectator
from tests.chaos.tables.history import Asked, ClientHistory
from tests.chaos.tables.link import Caller, Link, PlayLink, UnaryLink
from tests.chaos.tables.load import Terms
from tests.chaos.tables.script import Pace, Script
from tests.simulation.channel import Channel
from tests.simulation.clock import SimulatedClock
from tests.simulation.network import ANY_ENGINE, Network, token_of

_KINDS: Final = (
    Terms(),
    Terms(variant=common_pb2.VARIANT_KLASIK, start_points=3),
    Terms(mode=common_pb2.MODE_SOLO, people=1),
    Terms(),
    Terms(mode=common_pb2.MODE_ESLI, seat_count=4, people=4),
    Terms(seat_count=4, people=4),
)
_PACE: Final = Pace(factor=0.3, naps=(0.0, 0.0, 0.05, 0.4))
_STAKES: Final = (50, 100, 400, 900)
_TURN_TIMEOUT_MS: Final = 15_000
_WATCHED_SHARE: Final = 0.2


class Impatient(Script):
    """Gives the match up after a few turns, so that matches are short."""

    def __init__(self, chance: Random) -> None:
        super().__init__(chance, _PACE)
        self._turns = 0
        self._patience = chance.choice((0, 1, 2, 4, 8, 16))

    def gives_up(self) -> bool:
        """Whether the player gives the match up in this turn."""
        self._turns += 1
        return self._turns > self._patience and self.chance.random() < 0.5

    def plays_on(self) -> bool:
        """Whether the player stays for the Nachspiel."""
        self._turns = 0
        return self.chance.random() < 0.5


class Tables:
    """Plays so many tables; ``clients`` is what everybody saw, complete once ``play`` ends."""

    def __init__(self, network: Network, clock: SimulatedClock, chance: Random) -> None:
        self.clients: Final[list[ClientHistory]] = []
        self.closed = 0
        self._network = network
        self._clock = clock
        self._chance = chance
        self._numbers = count(1)
        self._ids = count(1)
        self._lobby = self._caller("lobby", Role.LOBBY)

    async def play(self, tables: int, lanes: int) -> None:
        """Return once all of them are closed."""
        left = iter(range(tables))
        await asyncio.gather(*(self._lane(left) for _ in range(lanes)))

    async def _lane(self, left: Any) -> None:
        for _ in left:
            await asyncio.sleep(self._chance.uniform(0.0, 1.0))
            await self._table(self._chance.choice(_KINDS))
            self.closed += 1

    async def _table(self, terms: Terms) -> None:
        """One table from its opening to its end."""
        number = next(self._numbers)
        names = [f"player-{number}-{seat}" for seat in range(terms.people)]
        opening = engine_pb2.OpenTableRequest(
            request_id=self._next_id(),
            player=names[0],
            variant=terms.variant,
            mode=terms.mode,
            seat_count=terms.seat_count,
            stake=self._chance.choice(_STAKES),
            turn_timeout_ms=_TURN_TIMEOUT_MS,
            start_points=terms.start_points,
            bot_level=terms.bot_level,
        )
        asked = Asked("OpenTable", opening.request_id, self._clock.now_ms())
        opened = await self._lobby_asks(self._lobby.stub.OpenTable, opening, asked)
        assert opened is not None, f"OpenTable was refused: {asked.refusal}"
        leaving = asyncio.Event()
        clients = [self._player(opened.table_id, name, leaving) for name in names]
        clients[0].history.asked.append(asked)
        playing = [client.play() for client in clients]
        if self._chance.random() < _WATCHED_SHARE:
            playing.append(self._spectator(opened.table_id, f"watcher-{number}").follow())
        seating = [self._seat(client) for client in clients[1:]]
        patience = asyncio.get_running_loop().call_later(
            self._chance.uniform(20.0, 300.0), leaving.set
        )
        await asyncio.gather(*playing, *seating)
        patience.cancel()

    async def _seat(self, client: Player) -> None:
        history = client.history
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        request = engine_pb2.TakeSeatRequest(
            table_id=history.table_id, request_id=self._next_id(), player=history.player
        )
        asked = Asked("TakeSeat", request.request_id, self._clock.now_ms())
        history.asked.append(asked)
        await self._lobby_asks(self._lobby.stub.TakeSeat, request, asked)

    def _player(self, table_id: str, name: str, leaving: asyncio.Event) -> Player:
        own = Random(self._chance.random())
        history = ClientHistory(name, table_id)
        self.clients.append(history)
        link = self._link(name, table_id, own)
        return Player(link, history, self._clock, Impatient(own), leaving, self._next_id)

    def _spectator(self, table_id: str, name: str) -> Spectator:
        own = Random(self._chance.random())
        history = ClientHistory(name, table_id, is_spectator=True)
        self.clients.append(history)
        return Spectator(self._link(name, table_id, own), history, self._clock, own)

    async def _lobby_asks(
        self, method: Callable[..., Awaitable[Any]], request: Any, asked: Asked
    ) -> Any:
        return await until_answered(self._lobby, method, request, asked, self._clock)

    def _caller(self, name: str, role: Role) -> Caller:
        def channel_to(address: str) -> Any:
            return Channel(self._network, address)

        return Caller(channel_to(ANY_ENGINE), token_of(role, name), channel_to)

    def _link(self, name: str, table_id: str, chance: Random) -> Link:
        caller = self._caller(name, Role.PLAYER)
        return (UnaryLink if chance.random() < 0.5 else PlayLink)(caller, table_id)

    def _next_id(self) -> str:
        return f"request-{next(self._ids)}"
