"""A whole quick match that a seed drives: replicas that are interrupted anywhere and die, players
who come, wait, go away, and cannot pay.
"""

import asyncio
import random
from collections.abc import Iterator
from itertools import combinations, count

from redis.asyncio import Redis

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.filling import Filling
from services.lobby.group_store import LEASE_MS, GroupStore
from services.lobby.matchmaker import Matchmaker
from services.lobby.seating import Seating
from services.lobby.terms import Terms
from services.lobby.ticket import (
    PartyNotFound,
    QuickMatchUnavailable,
    Ticket,
    TicketBeingSeated,
    TicketExists,
    TicketNotFound,
    TicketState,
    Wish,
)
from services.lobby.ticket_scripts import FRESH_MS, SCRIPTS, script
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow
from tests.fixtures.match_tables import CHIPS, MemoryTables, SameRatings
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.interleaving import Fate, Gate, GatedRedis, GatedTables, quiet

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
WINDOW = RatingWindow(points=100, doubles_every_ms=2_000, opens_after_ms=9_000)
FATES = (Fate.DONE,) * 40 + (Fate.DONE_TWICE, Fate.REQUEST_LOST, Fate.REPLY_LOST, Fate.LATE)


class Replica:
    """One lobby's matchmaker; ``passing`` is its running pass."""

    def __init__(self, name: str, valkey: Valkey, world: "QuickWorld") -> None:
        self.name = name
        self.redis: Redis = GatedRedis(valkey, world.gate, name)
        tables = GatedTables(world.tables, world.gate, name)
        groups = GroupStore(self.redis, world.clock, name)
        filling = Filling(
            world.tables,
            tables,
            world.ratings,
            TicketStore(self.redis, world.clock),
            WINDOW,
            world.clock,
            lambda: f"{name}-group-{next(world.numbers)}",
        )
        self.seating = Seating(groups, tables, world.clock)
        self.matchmaker = Matchmaker(
            groups,
            self.seating,
            filling,
            world.may_use_bots,
            WINDOW,
            world.clock,
            lambda: f"{name}-group-{next(world.numbers)}",
        )
        self.passing: asyncio.Task[None] | None = None

    def begin_pass(self) -> None:
        """Pass over the queues, unless a pass is running."""
        if self.passing is None or self.passing.done():
            self.passing = asyncio.create_task(self._pass())

    async def _pass(self) -> None:
        try:
            await self.matchmaker.run_once()
        except QuickMatchUnavailable:
            return  # the next pass comes


class QuickWorld:
    """Replicas, tables, players and the time; whatever happens follows from the seed."""

    def __init__(self, valkey: Valkey, seed: int, players: int = 14) -> None:
        self.chance = random.Random(seed)
        self.clock = VirtualClock()
        self.gate = Gate(self.chance, self.clock)
        self.tables = MemoryTables()
        self.ratings = SameRatings()
        self.numbers = count(1)
        self.players = [f"player{number:02}" for number in range(players)]
        self.base = dict.fromkeys(self.players, CHIPS)
        self.walked_out_of: set[str] = set()
        self.walked: set[str] = set()
        self._valkey = valkey
        self._redis = open_redis(valkey.url)
        self.store = TicketStore(self._redis, self.clock)
        self._gone: set[str] = set()
        self._codes: list[str] = []
        self._names = count(1)
        self._all: list[Replica] = []
        self.replicas = [self._replica(), self._replica()]
        for player in self.players:
            self.ratings.ratings[player] = self.chance.choice((1_000, 1_050, 1_180, 1_700)) * 1_000

    async def may_use_bots(self) -> bool:
        return True

    async def close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        mine = [task for task in others if "matchmaker" in repr(task.get_coro())]
        passes = [replica.passing for replica in self._all if replica.passing]
        for task in [*mine, *passes]:
            task.cancel()
        await asyncio.gather(*mine, *passes, return_exceptions=True)
        for replica in self._all:
            await replica.redis.aclose(close_connection_pool=True)
        await self._redis.aclose()

    async def live(self, events: int) -> None:
        """So many things happen, one after the other."""
        # A script that has to be loaded first would be one thing more.
        for path in SCRIPTS.glob("*.lua"):
            await self._redis.script_load(script(self._redis, path.stem).script)
        for _ in range(events):
            steps = self.gate.open_steps()
            if steps and self.chance.random() < 0.75:
                await self.gate.let_through(self.chance.choice(steps), self.chance.choice(FATES))
            else:
                await self._something_happens()

    async def calm_down(self) -> None:
        """Nothing goes wrong any more: those who hang die, leases end, whoever fits is seated."""
        for replica in self._all:
            self.gate.die(replica.name)
        for player in self.players:
            self.tables.pay(player)
        await self.gate.deliver_late()
        healthy = self._replica()
        for _ in range(4):
            await self._let_pass(LEASE_MS // 2)
            await self._pass_in_peace(healthy)
        # Who cannot pay sends the others of the group back; the next pass has them again.
        before: dict[str, Ticket] = {}
        while (now := await self.tickets()) != before:
            before = now
            await self._pass_in_peace(healthy)

    async def _pass_in_peace(self, replica: Replica) -> None:
        """One whole pass, and everybody it has claimed is seated."""
        replica.begin_pass()
        await quiet()
        while steps := self.gate.open_steps():
            await self.gate.let_through(steps[0], Fate.DONE)
        assert replica.passing is not None
        await replica.passing

    async def _something_happens(self) -> None:
        happening = self.chance.choices(
            (
                self._pass,
                self._enqueue,
                self._cancel,
                self._time_goes_by,
                self._replica_dies,
                self._replica_hangs,
                self._replica_wakes,
                self._player_leaves,
                self._wallet_is_moody,
                self._client_goes,
                self.gate.deliver_late,
                self._matches_begin,
            ),
            (30, 30, 4, 16, 2, 3, 3, 4, 6, 2, 6, 3),
        )[0]
        await happening()

    async def _pass(self) -> None:
        self.chance.choice(self.replicas).begin_pass()
        await quiet()

    async def _enqueue(self) -> None:
        """As the servicer does: who sits somewhere is led there."""
        player = self.chance.choice(self.players)
        if self.tables.where(player) is not None:
            return
        self._gone.discard(player)
        terms = self.chance.choice((TWO, TWO, FOUR, ESLI))
        code, opens = "", False
        if terms is ESLI and self.chance.random() < 0.5:
            opens = not self._codes or self.chance.random() < 0.5
            code = f"code{next(self.numbers)}" if opens else self.chance.choice(self._codes)
            if opens:
                self._codes = [*self._codes[-3:], code]
        wish = Wish(
            player=player,
            display_name=player,
            ticket_id=f"{player}-{next(self.numbers)}",
            terms=terms,
            rating_milli=self.ratings.ratings[player],
            house_fill_after_ms=self.chance.choice((0, 0, 0, 6_000)),
            party_code=code,
            opens_party=opens,
        )
        try:
            await self.store.enqueue(wish)
        except (TicketExists, PartyNotFound):
            return

    async def _cancel(self) -> None:
        try:
            await self.store.cancel(self.chance.choice(self.players))
        except (TicketNotFound, TicketBeingSeated):
            return

    async def _time_goes_by(self) -> None:
        await self._let_pass(self.chance.choice((50, 300, 1_000, 4_500, 11_000, 21_000)))

    async def _let_pass(self, by_ms: int) -> None:
        """Turn the clock, never so far at once that a client which is there falls silent."""
        while by_ms > 0:
            step_ms = min(by_ms, FRESH_MS // 2)
            self.clock.advance_ms(step_ms)
            by_ms -= step_ms
            await self._keep_alive()
            await quiet()

    async def _keep_alive(self) -> None:
        await self.store.touch_all([each for each in self.players if each not in self._gone])

    async def _replica_dies(self) -> None:
        dying = self.chance.choice(self.replicas)
        self.gate.die(dying.name)
        self.replicas[self.replicas.index(dying)] = self._replica()

    async def _replica_hangs(self) -> None:
        """Others think it dead, and it goes on later as if nothing had been."""
        hanging = self.chance.choice(self.replicas)
        self.gate.hung.add(hanging.name)
        self.replicas[self.replicas.index(hanging)] = self._replica()

    async def _replica_wakes(self) -> None:
        if self.gate.hung:
            self.gate.hung.remove(self.chance.choice(sorted(self.gate.hung)))

    async def _player_leaves(self) -> None:
        """Gets up from a table whose match has not begun."""
        player = self.chance.choice(self.players)
        table_id = self.tables.where(player)
        if table_id is not None and not self.tables.tables[table_id].is_playing:
            self.tables.walk_out(table_id, player)
            self.walked_out_of.add(table_id)
            self.walked.add(player)

    async def _wallet_is_moody(self) -> None:
        player = self.chance.choice(self.players)
        match self.chance.randrange(4):
            case 0 if self.tables.where(player) is None:
                self.base[player] = self.tables.chips[player] = 0
            case 1 if self.tables.where(player) is None:
                self.base[player] = self.tables.chips[player] = CHIPS
            case 2 if self.tables.where(player) is None:
                self.tables.slow.add(player)
            case 3:
                self.tables.pay(player)

    async def _client_goes(self) -> None:
        self._gone.add(self.chance.choice(self.players))

    async def _matches_begin(self) -> None:
        self.tables.start_full_tables()

    def _replica(self) -> Replica:
        replica = Replica(f"replica{next(self._names)}", self._valkey, self)
        self._all.append(replica)
        return replica

    async def tickets(self) -> dict[str, Ticket]:
        """Everybody's newest ticket."""
        found = await self.store.look_at_all(self.players)
        return {ticket.player: ticket for ticket in found if ticket is not None}

    def fitting(self, tickets: dict[str, Ticket]) -> Iterator[list[str]]:
        """Every set of waiting tickets that would fill a table, found by trying them all."""
        now_ms = self.clock.now_ms()
        waiting = {
            player: ticket
            for player, ticket in tickets.items()
            if ticket.state is TicketState.WAITING and player not in self._gone
        }
        for terms in (TWO, FOUR, ESLI):
            same = [player for player in waiting if waiting[player].terms == terms]
            for some in combinations(same, terms.seat_count):
                if any(waiting[each].partner not in ("", *some) for each in some):
                    continue
                units = _units({each: waiting[each] for each in some})
                for eldest, since_ms in units:
                    reach = WINDOW.reach_milli(now_ms - since_ms)
                    if all(abs(rating - eldest) <= reach for rating, _ in units):
                        yield list(some)
                        break


def _units(tickets: dict[str, Ticket]) -> list[tuple[int, int]]:
    """Rating and start of the wait of each player alone, and of each party; the one who came first
    stands first, and alone counts for the window.
    """
    done: set[str] = set()
    units: list[tuple[int, int]] = []
    for player, ticket in tickets.items():
        if player in done:
            continue
        done |= {player, ticket.partner}
        both = [ticket, tickets[ticket.partner]] if ticket.partner else [ticket]
        mean = sum(each.rating_milli for each in both) // len(both)
        units.append((mean, max(each.since_ms for each in both)))
    return units
