"""A whole quick match that a seed drives: replicas that are interrupted anywhere and die, players
who come, wait, go away, and cannot pay.
"""

import asyncio
import random
from collections.abc import Sequence
from itertools import count

from redis.asyncio import Redis

from okey.rules.variant import Mode
from okey_runtime.clock import VirtualClock
from okey_runtime.redis import open_redis
from services.lobby.filling import Filling
from services.lobby.group import Claim, Group
from services.lobby.group_store import PASS_LEASE_MS, GroupStore
from services.lobby.leases import TURN_MS
from services.lobby.matchmaker import Matchmaker
from services.lobby.seating import PAUSE_MS, Seating
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
from services.lobby.ticket_scripts import FRESH_MS, SCRIPTS, script, text, ticket_key
from services.lobby.ticket_store import TicketStore
from services.lobby.windows import RatingWindow
from tests.fixtures.match_tables import CHIPS, MemoryTables, SameRatings
from tests.fixtures.valkey import Valkey
from tests.integration.lobby.fitting import fitting_sets
from tests.integration.lobby.interleaving import Fate, Gate, GatedRedis, GatedTables, quiet
from tests.integration.lobby.table_life import TableLife

TWO = Terms.of(seat_count=2)
FOUR = Terms.of()
ESLI = Terms.of(mode=Mode.ESLI)
WINDOW = RatingWindow(points=100, doubles_every_ms=2_000, opens_after_ms=9_000)
FATES = (Fate.DONE,) * 40 + (Fate.DONE_TWICE, Fate.REQUEST_LOST, Fate.REPLY_LOST, Fate.LATE)


class RecordedGroups(GroupStore):
    """Notes every claim that was had."""

    def __init__(self, redis: Redis, clock: VirtualClock, passer: str, had: list[Group]) -> None:
        super().__init__(redis, clock, passer)
        self._had = had

    async def claim(self, groups: Sequence[Group]) -> list[Claim]:
        claims = await super().claim(groups)
        self._had += [claim.group for claim in claims]
        return claims


class Replica:
    """One lobby's matchmaker; ``passing`` is its running pass."""

    def __init__(self, name: str, valkey: Valkey, world: "QuickWorld") -> None:
        self.name = name
        self.redis: Redis = GatedRedis(valkey, world.gate, name)
        tables = GatedTables(world.tables, world.gate, name)
        groups = RecordedGroups(self.redis, world.clock, name, world.claimed)
        filling = Filling(
            world.tables,
            tables,
            world.ratings,
            TicketStore(self.redis, world.clock),
            WINDOW,
            world.clock,
            lambda: f"{name}-group-{next(world.numbers)}",
        )
        self.leases = groups.leases
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
        self.renewing: asyncio.Task[None] | None = None

    def begin_pass(self) -> None:
        """Pass over the queues, unless a pass is running."""
        if self.passing is None or self.passing.done():
            self.passing = asyncio.create_task(self._pass())

    def begin_renewal(self) -> None:
        """Renew the leases of groups in hand, unless that is under way."""
        if self.renewing is None or self.renewing.done():
            self.renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        try:
            await self.leases.renew()
        except QuickMatchUnavailable:
            return  # the next renewal comes

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
        self.claimed: list[Group] = []
        self._valkey = valkey
        self._redis = open_redis(valkey.url)
        self.store = TicketStore(self._redis, self.clock)
        self.life = TableLife(self.chance, self.tables, self.store, self.players, (TWO, FOUR, ESLI))
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
        begun = [task for each in self._all for task in (each.passing, each.renewing)]
        passes = [task for task in begun if task]
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
        await self._end_old_groups(healthy)
        # Who cannot pay sends the others of the group back; the next pass has them again.
        before: dict[str, Ticket] = {}
        while (now := await self.tickets()) != before:
            before = now
            await self.one_pass(healthy)

    async def one_pass(self, *replicas: Replica, life: float = 0.0) -> None:
        """One whole pass of each of these, interleaved, and everybody they have claimed is seated;
        meanwhile so often something happens at a table.
        """
        for replica in replicas:
            replica.begin_pass()
        await quiet()
        while steps := self.gate.open_steps():
            if self.chance.random() < life:
                await self.chance.choice((self.life.goes_on, self._enqueue, self._cancel))()
            else:
                await self.gate.let_through(self.chance.choice(steps), Fate.DONE)
        for replica in replicas:
            assert replica.passing is not None
            await replica.passing

    async def crash_in_a_pass(self) -> None:
        """A replica begins a pass and dies over it; the others wait for its leases."""
        dying = self._replica()
        dying.begin_pass()
        await quiet()
        for _ in range(self.chance.randrange(12)):
            if steps := self.gate.open_steps():
                await self.gate.let_through(steps[0], Fate.DONE)
        self.gate.die(dying.name)
        await self._let_pass_in_peace(PASS_LEASE_MS)

    async def crowd(self, happenings: int = 40) -> list[Replica]:
        """Everything old is over, and players come to queues and tables while nobody passes; two
        replicas that can.
        """
        for replica in self._all:
            self.gate.die(replica.name)
        await self.gate.deliver_late()
        healthy = [self._replica(), self._replica()]
        await self._end_old_groups(healthy[0])
        self.tables.start_full_tables()
        for _ in range(happenings):
            await self.chance.choice((self.life.goes_on, self._enqueue, self._enqueue))()
        # At least as long as a replica lets the engine rest that gave it no answer.
        await self._let_pass_in_peace(self.chance.choice((2 * PAUSE_MS, 3_000, 9_000)))
        return healthy

    async def _end_old_groups(self, healthy: Replica) -> None:
        """Groups of dead replicas are taken up, and what those have sent is over."""
        for _ in range(4):
            await self._let_pass_in_peace(TURN_MS // 4)
            await self.one_pass(healthy)

    async def _let_pass_in_peace(self, by_ms: int) -> None:
        """Turn the clock while every call is answered at once."""
        for _ in range(0, by_ms, PAUSE_MS):
            await self._let_pass(PAUSE_MS)
            for replica in self._all:
                if replica.name not in self.gate.dead:
                    replica.begin_renewal()
            await quiet()
            while steps := self.gate.open_steps():
                await self.gate.let_through(steps[0], Fate.DONE)

    async def _something_happens(self) -> None:
        happening = self.chance.choices(
            (
                self._pass,
                self._renew,
                self._enqueue,
                self._cancel,
                self._time_goes_by,
                self._replica_dies,
                self._replica_hangs,
                self._replica_wakes,
                self.life.a_table_is_made,
                self.life.somebody_joins,
                self.life.somebody_leaves,
                self.life.a_match_ends,
                self._wallet_is_moody,
                self._client_goes,
                self.gate.deliver_late,
                self._matches_begin,
            ),
            (30, 12, 30, 4, 16, 2, 3, 3, 3, 4, 4, 2, 6, 2, 6, 3),
        )[0]
        await happening()

    async def _pass(self) -> None:
        self.chance.choice(self.replicas).begin_pass()
        await quiet()

    async def _renew(self) -> None:
        self.chance.choice(self.replicas).begin_renewal()
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

    async def waiting(self) -> dict[str, Ticket]:
        """The tickets that wait, with a client that is there."""
        return {
            player: ticket
            for player, ticket in (await self.tickets()).items()
            if ticket.state is TicketState.WAITING and player not in self._gone
        }

    async def fitting(self) -> list[list[str]]:
        """Every set of waiting tickets that would fill a table."""
        return list(fitting_sets(await self.waiting(), WINDOW, self.clock.now_ms()))

    async def avoided(self, player: str) -> str:
        """The table from which the player's ticket is kept away."""
        return text(await self._redis.hget(ticket_key(player), "avoided") or "")
