"""Two matchmakers on a real Valkey, around tables in memory that hold the truth about seats."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.filling import Filling
from services.lobby.group_store import GroupStore
from services.lobby.leases import RENEW_MS
from services.lobby.match_tables import Look, SeatAnswer, Unknown
from services.lobby.matchmaker import Matchmaker
from services.lobby.seating import Seating
from services.lobby.terms import Terms
from services.lobby.ticket import Ticket, TicketState, Wish
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow
from tests.fixtures.match_tables import MemoryTable, MemoryTables, SameRatings
from tests.fixtures.valkey import Valkey

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
OPEN = "w" * 26


class FlakyTables(MemoryTables):
    """Tables whose replies get lost for those in ``lost``: it is done, and nobody hears of it."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.is_away = False
        self.looked_at = 0

    async def open(
        self, request_id: str, player: str, name: str, terms: Terms, house_fill_after_ms: int
    ) -> SeatAnswer:
        if self.is_away:
            return Unknown("away")
        answer = await super().open(request_id, player, name, terms, house_fill_after_ms)
        return self._heard(player, answer)

    async def take(
        self, table_id: str, request_id: str, player: str, name: str, seat: int
    ) -> SeatAnswer:
        if self.is_away:
            return Unknown("away")
        answer = await super().take(table_id, request_id, player, name, seat)
        return self._heard(player, answer)

    async def look(self, table_id: str) -> Look | Unknown | None:
        self.looked_at += 1
        return Unknown("away") if self.is_away else await super().look(table_id)

    def _heard(self, player: str, answer: SeatAnswer) -> SeatAnswer:
        return Unknown("the reply was lost") if player in self.lost else answer


class NoticedClock(VirtualClock):
    """Tells whether somebody sleeps on it who is not to be woken yet."""

    def __init__(self) -> None:
        super().__init__()
        self._deadlines: list[int] = []
        self._is_slept_on = asyncio.Event()

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        self._deadlines.append(monotonic_ms)
        self._is_slept_on.set()
        try:
            await super().sleep_until_ms(monotonic_ms)
        finally:
            self._deadlines.remove(monotonic_ms)

    async def slept_on(self) -> None:
        """Return once somebody waits for a time that has not come."""
        while not any(each > self.monotonic_ms() for each in self._deadlines):
            self._is_slept_on.clear()
            await self._is_slept_on.wait()


class World:
    """Two replicas around one set of tables; their clock stands still until it is turned."""

    def __init__(self, valkey: Valkey) -> None:
        self.clock = NoticedClock()
        self.tables = FlakyTables()
        self.ratings = SameRatings()
        self.has_bots = True
        self.redis = open_redis(valkey.url)
        self.store = TicketStore(self.redis, self.clock)
        self.groups = [GroupStore(self.redis, self.clock, name) for name in ("one", "two")]
        self.seatings = [Seating(groups, self.tables, self.clock) for groups in self.groups]
        self.replicas = [self._matchmaker(number) for number in range(2)]
        self._living = list(self.groups)
        self._players: list[str] = []
        self._numbers = 0

    async def enqueue(self, *players: str, terms: Terms = TWO, rating: int = 1_200) -> None:
        for player in players:
            await self.wish(player, terms, rating)

    async def wish(
        self,
        player: str,
        terms: Terms = TWO,
        rating: int = 1_200,
        fill_ms: int = 0,
        code: str = "",
        opens: bool = False,
    ) -> Ticket:
        self._players.append(player)
        self._numbers += 1
        return await self.store.enqueue(
            Wish(
                player,
                player.title(),
                f"{player}-{self._numbers}",
                terms,
                rating * 1_000,
                fill_ms,
                code,
                opens,
            )
        )

    async def match(self, replica: int = 0) -> None:
        """A pass of a replica, and every group it has claimed is seated or waits for the clock."""
        await self.replicas[replica].run_once()
        await self._until_quiet(replica)

    async def go_on(self, by_ms: int, replica: int = 0) -> None:
        """Time goes by, and groups that waited for it are seated or wait for it again."""
        await self.wait(by_ms)
        await self._until_quiet(replica)

    async def _until_quiet(self, replica: int) -> None:
        seating = asyncio.create_task(self.replicas[replica].seated())
        sleeping = asyncio.create_task(self.clock.slept_on())
        await asyncio.wait([seating, sleeping], return_when=asyncio.FIRST_COMPLETED)
        sleeping.cancel()

    async def wait(self, by_ms: int) -> None:
        """Time goes by while every client is there, and every replica that lives."""
        while by_ms > 0:
            step_ms = min(by_ms, RENEW_MS)
            self.clock.advance_ms(step_ms)
            by_ms -= step_ms
            if self._players:
                await self.store.touch_all(self._players)
            for groups in self._living:
                await groups.leases.renew()

    def die(self, replica: int) -> None:
        """The replica is not heard of any more."""
        self._living.remove(self.groups[replica])

    async def ticket(self, player: str) -> Ticket:
        return await self.store.look(player)

    async def states(self, *players: str) -> list[TicketState]:
        return [(await self.ticket(player)).state for player in players]

    def sitting(self) -> list[list[str]]:
        """Who sits together."""
        tables = [table for table in self.tables.tables.values() if not table.is_closed]
        return sorted(sorted(table.players.values()) for table in tables)

    def put(self, table_id: str = OPEN, terms: Terms = TWO, **players: int) -> MemoryTable:
        """A table that is there already."""
        table = MemoryTable(terms, 0, {seat: player for player, seat in players.items()})
        self.tables.tables[table_id] = table
        return table

    async def close(self) -> None:
        await self.redis.aclose()

    async def _may_use_bots(self) -> bool:
        return self.has_bots

    def _matchmaker(self, number: int) -> Matchmaker:
        window = RatingWindow()
        filling = Filling(self.tables, self.tables, self.ratings, self.store, window, self.clock)
        return Matchmaker(
            self.groups[number],
            self.seatings[number],
            filling,
            self._may_use_bots,
            window,
            self.clock,
        )


SEATED, WAITING, SEATING = TicketState.SEATED, TicketState.WAITING, TicketState.SEATING
DROPPED = TicketState.DROPPED


@pytest.fixture
async def world(valkey: Valkey) -> AsyncIterator[World]:
    world = World(valkey)
    yield world
    await world.close()
