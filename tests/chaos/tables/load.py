"""Tables of every kind that are played until the run is over, a new one for each that closes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import Clock
from okey_runtime.identity import Role
from tests.chaos.tables.asking import until_answered
from tests.chaos.tables.client import Player, Spectator
from tests.chaos.tables.history import Asked, ClientHistory
from tests.chaos.tables.link import Caller, Link, PlayLink, UnaryLink
from tests.chaos.tables.script import Pace, Script
from tests.chaos.tables.stand import TablesStand

_WATCHED_SHARE: Final = 0.15


@dataclass(frozen=True, slots=True)
class Terms:
    """A kind of table; the seats that ``people`` leave free are bots'."""

    variant: common_pb2.Variant.ValueType = common_pb2.VARIANT_CANAK
    mode: common_pb2.Mode.ValueType = common_pb2.MODE_NORMAL
    seat_count: int = 2
    people: int = 2
    start_points: int = 0
    bot_level: common_pb2.BotLevel.ValueType = common_pb2.BOT_LEVEL_NORMAL


_SOLO: Final = Terms(mode=common_pb2.MODE_SOLO, people=1)
_SOLO_EASY: Final = Terms(mode=common_pb2.MODE_SOLO, people=1, bot_level=common_pb2.BOT_LEVEL_EASY)
_SOLO_FOUR: Final = Terms(mode=common_pb2.MODE_SOLO, seat_count=4, people=1)
_CANAK: Final = Terms()
_CANAK_FOUR: Final = Terms(seat_count=4, people=4)
_KLASIK: Final = Terms(variant=common_pb2.VARIANT_KLASIK, start_points=3)
_ESLI: Final = Terms(mode=common_pb2.MODE_ESLI, seat_count=4, people=4)

KINDS: Final = (
    *(_SOLO, _CANAK, _SOLO_FOUR, _KLASIK, _SOLO_EASY),
    *(_SOLO, _ESLI, _SOLO_EASY, _CANAK, _SOLO, _KLASIK, _CANAK_FOUR),
)


class Load:
    """Plays a number of tables at once; ``clients`` is the history, complete once ``play`` ends."""

    def __init__(
        self, stand: TablesStand, clock: Clock, seed: int, pace: Pace, turn_timeout_ms: int
    ) -> None:
        self.clients: Final[list[ClientHistory]] = []
        self.closed_tables = 0
        self.moves = 0
        """How many moves were accepted so far."""
        self._stand = stand
        self._clock = clock
        self._seed = seed
        self._pace = pace
        self._turn_timeout_ms = turn_timeout_ms
        self._leaving = asyncio.Event()
        self._has_moved = asyncio.Event()
        self._numbers = count(1)
        self._lobby = stand.caller("lobby", Role.LOBBY)

    @property
    def table_ids(self) -> set[str]:
        """Every table that was made."""
        return {client.table_id for client in self.clients}

    async def moved(self) -> None:
        """Return once another move of a running round was accepted."""
        self._has_moved.clear()
        await self._has_moved.wait()

    def _moved(self) -> None:
        self.moves += 1
        self._has_moved.set()

    async def play(self, tables: int, ramp_s: float) -> None:
        """Play so many tables at once, begun within ``ramp_s``; return when all are closed."""
        lanes = [self._lane(lane, ramp_s * lane / tables) for lane in range(tables)]
        await asyncio.gather(*lanes)

    def finish(self) -> None:
        """Begin no more tables; everybody leaves, at a price if need be."""
        self._leaving.set()

    async def _lane(self, lane: int, wait_s: float) -> None:
        chance = Random(f"{self._seed}-{lane}")
        await asyncio.sleep(wait_s)
        for round_no in count():
            if self._leaving.is_set():
                return
            await self._table(KINDS[(lane + 5 * round_no) % len(KINDS)], chance)
            self.closed_tables += 1

    async def _table(self, terms: Terms, chance: Random) -> None:
        """One table from its opening to its end."""
        number = next(self._numbers)
        names = [f"player-{number}-{seat}" for seat in range(terms.people)]
        opening = engine_pb2.OpenTableRequest(
            request_id=self._next_id(),
            player=names[0],
            variant=terms.variant,
            mode=terms.mode,
            seat_count=terms.seat_count,
            stake=100,
            turn_timeout_ms=self._turn_timeout_ms,
            start_points=terms.start_points,
            bot_level=terms.bot_level,
        )
        asked = Asked("OpenTable", opening.request_id, self._clock.now_ms())
        opened = await self._lobby_asks(self._lobby.stub.OpenTable, opening, asked)
        if opened is None:
            raise AssertionError(f"OpenTable was refused: {asked.refusal}")
        await self._opened(opened.table_id)
        clients = [self._player(opened.table_id, name, chance) for name in names]
        clients[0].history.asked.append(asked)
        playing = [client.play() for client in clients]
        if chance.random() < _WATCHED_SHARE:
            playing.append(self._spectator(opened.table_id, f"watcher-{number}", chance).follow())
        seating = [self._seat(client, chance) for client in clients[1:]]
        await asyncio.gather(*playing, *seating)

    async def _opened(self, table_id: str) -> None:
        """A table was made; where there are several engines, one notes which has it."""

    async def _seat(self, client: Player, chance: Random) -> None:
        history = client.history
        await asyncio.sleep(chance.uniform(0.0, 0.5))
        request = engine_pb2.TakeSeatRequest(
            table_id=history.table_id, request_id=self._next_id(), player=history.player
        )
        asked = Asked("TakeSeat", request.request_id, self._clock.now_ms())
        history.asked.append(asked)
        await self._lobby_asks(self._lobby.stub.TakeSeat, request, asked)

    def _player(self, table_id: str, name: str, chance: Random) -> Player:
        own = Random(chance.random())
        history = ClientHistory(name, table_id)
        self.clients.append(history)
        link = _link(self._stand.caller(name), table_id, own)
        script = Script(own, self._pace)
        player = Player(link, history, self._clock, script, self._leaving, self._next_id)
        player.on_moved = self._moved
        return player

    def _spectator(self, table_id: str, name: str, chance: Random) -> Spectator:
        own = Random(chance.random())
        history = ClientHistory(name, table_id, is_spectator=True)
        self.clients.append(history)
        return Spectator(_link(self._stand.caller(name), table_id, own), history, self._clock, own)

    async def _lobby_asks(
        self, method: Callable[..., Awaitable[Any]], request: Any, asked: Asked
    ) -> Any:
        return await until_answered(self._lobby, method, request, asked, self._clock)

    def _next_id(self) -> str:
        return f"request-{next(self._numbers)}"


def _link(caller: Caller, table_id: str, chance: Random) -> Link:
    return (UnaryLink if chance.random() < 0.5 else PlayLink)(caller, table_id)
