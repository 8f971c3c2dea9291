"""`make bench`, quick match: 10,000 tickets in a burst, and how long people wait for even matches.

The burst goes through the real scripts on a real Valkey with two matchmakers; tables and wallet
answer at once, from memory. So what is measured is quick match itself. Then a population arrives at
several rates, on a virtual clock and without Redis: how long each waited, and how far apart the
ratings of its match lie, drawn to ``build/bench/lobby-waits.png``.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import matplotlib as mpl
from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

from okey.rules.variant import Mode
from okey_runtime.clock import SystemClock
from okey_runtime.logging import configure_logging
from okey_runtime.redis import open_redis
from services.lobby.app import MAX_CONNECTIONS
from services.lobby.filling import Filling, OpenTable
from services.lobby.group_store import GroupStore
from services.lobby.match_tables import SeatAnswer
from services.lobby.matchmaker import PASS_MS, Matchmaker
from services.lobby.planning import plan
from services.lobby.seating import Seating
from services.lobby.terms import Terms
from services.lobby.ticket import Ticket, TicketState, Wish
from services.lobby.ticket_scripts import ticket_key
from services.lobby.ticket_store import TicketStore
from services.lobby.ticket_watch import WATCH_MS
from services.lobby.waiting import Unit, Waiting
from services.lobby.windows import RatingWindow
from tests.bench.figures import Spread
from tests.fixtures.match_tables import MemoryTables, SameRatings
from tests.fixtures.valkey import Valkey

TICKETS: Final = 10_000
BUCKETS: Final = (Terms.of(seat_count=2), Terms.of(), Terms.of(mode=Mode.ESLI))
WINDOW: Final = RatingWindow()
PICTURE: Final = Path(__file__).parents[2] / "build" / "bench" / "lobby-waits.png"
RATES: Final = (0.05, 0.2, 1.0, 5.0)
"""Arrivals a second."""

_ENQUEUED_AT_ONCE: Final = 64
_TOUCHED_AT_ONCE: Final = 200
_OVER: Final = tuple(state.value.encode() for state in TicketState if not state.is_live)
_MIDDLE, _SPREAD = 1_200, 250
_RATES_SECONDS: Final = 3_600


class NoOpenTables:
    """``OpenTables`` where nobody waits."""

    async def with_free_seats(self, terms: Terms) -> tuple[int, Sequence[OpenTable]]:
        """None."""
        return 0, ()


class IndexedTables(MemoryTables):
    """Tables that know where everybody sits: looking at each would be most of what is measured."""

    def __init__(self) -> None:
        super().__init__()
        self._at: dict[str, str] = {}

    def where(self, player: str) -> str | None:
        """The table where the player sits."""
        return self._at.get(player)

    def walk_out(self, table_id: str, player: str) -> None:
        """The player gets up."""
        super().walk_out(table_id, player)
        del self._at[player]

    def _sit(self, table_id: str, player: str, seat: int) -> SeatAnswer:
        self._at[player] = table_id
        return super()._sit(table_id, player, seat)


def wishes(chance: random.Random) -> list[tuple[Wish, ...]]:
    """Tickets of three kinds, each by itself; every fourth one of Eşli's with its partner's."""
    made: list[tuple[Wish, ...]] = []
    count = 0
    while count < TICKETS:
        terms = chance.choice(BUCKETS)
        is_party = terms.mode is Mode.ESLI and chance.random() < 0.25 and count + 1 < TICKETS
        players = range(count, count + 1 + is_party)
        code = f"{count:020x}" if is_party else ""
        made.append(
            tuple(_wish(player, terms, code, player == count, chance) for player in players)
        )
        count += len(players)
    return made


def _wish(
    number: int, terms: Terms, party_code: str, opens_party: bool, chance: random.Random
) -> Wish:
    rating = round(chance.gauss(_MIDDLE, _SPREAD) * 1_000)
    return Wish(
        f"player{number}",
        "",
        f"ticket{number}",
        terms,
        rating,
        party_code=party_code,
        opens_party=bool(party_code) and opens_party,
    )


@dataclass
class Burst:
    """One burst and what it took."""

    redis: Redis
    tickets: TicketStore
    replicas: list[Matchmaker]
    tables: MemoryTables
    players: list[str]
    enqueued_s: float = 0
    matched_s: float = 0
    python_s: float = 0
    valkey_s: float = 0
    calls: int = 0
    _over: set[str] = field(default_factory=set)

    @classmethod
    def on(cls, clients: Sequence[Redis]) -> "Burst":
        """Two replicas, each with a client of its own; players call through the first."""
        tables, tickets = IndexedTables(), TicketStore(clients[0], SystemClock())
        replicas = [
            _replica(client, tables, tickets, f"replica{number}")
            for number, client in enumerate(clients)
        ]
        return cls(clients[0], tickets, replicas, tables, [])

    async def run(self) -> None:
        """Hand everything in while both replicas match, until nothing that is left fits."""
        waiting = iter(wishes(random.Random(1)))
        valkey_before, calls_before = await self._valkey()
        began, cpu = time.perf_counter(), time.process_time()
        passing = [asyncio.create_task(self._match(replica)) for replica in self.replicas]
        passing += [asyncio.create_task(replica.keep()) for replica in self.replicas]
        alive = asyncio.create_task(self._keep_alive())
        await asyncio.gather(*(self._enqueue(waiting) for _ in range(_ENQUEUED_AT_ONCE)))
        self.enqueued_s = time.perf_counter() - began
        await self._until_nothing_fits()
        self.matched_s = time.perf_counter() - began
        self.python_s = time.process_time() - cpu
        for task in (*passing, alive):
            task.cancel()
        await asyncio.gather(*passing, alive, return_exceptions=True)
        valkey_after, calls_after = await self._valkey()
        self.valkey_s, self.calls = valkey_after - valkey_before, calls_after - calls_before

    async def seated_ms(self) -> list[tuple[float, float]]:
        """When each came who was seated, and when it was, in the order of the second."""
        times = []
        for player in self.players:
            came, ended, state = await self.redis.hmget(
                ticket_key(player), "enqueued_ms", "ended_ms", "state"
            )
            if state == b"SEATED" and came and ended:
                times.append((float(came), float(ended)))
        return sorted(times, key=lambda each: each[1])

    async def left_by_terms(self) -> Counter[Terms]:
        """How many wait still, by terms; who has lost its partner on the way waits for another."""
        left = await self._left_over()
        live = (TicketState.WAITING, TicketState.SEATING)
        return Counter(ticket.terms for ticket in left if ticket.state in live)

    async def _enqueue(self, waiting: Iterator[tuple[Wish, ...]]) -> None:
        for wishes_of_one in waiting:
            for wish in wishes_of_one:
                await self.tickets.enqueue(wish)
                self.players.append(wish.player)

    async def _until_nothing_fits(self) -> None:
        """Every window is open in the end, so then fewer are left than a table needs."""
        is_over = False
        while not is_over:
            await asyncio.sleep(1)
            left = await self.left_by_terms()
            is_over = all(count < terms.seat_count for terms, count in left.items())

    async def _match(self, replica: Matchmaker) -> None:
        while True:
            began = time.perf_counter()
            await replica.run_once()
            await asyncio.sleep(max(0, PASS_MS / 1000 - (time.perf_counter() - began)))

    async def _keep_alive(self) -> None:
        """What replicas do for players who watch their tickets."""
        live: list[str] = []
        known = 0
        while True:
            live += self.players[known:]
            known = len(self.players)
            batches = range(0, len(live), _TOUCHED_AT_ONCE)
            await asyncio.gather(*(self._touch(live[i : i + _TOUCHED_AT_ONCE]) for i in batches))
            live = [player for player in live if player not in self._over]
            await asyncio.sleep(WATCH_MS / 1_000)

    async def _touch(self, players: Sequence[str]) -> None:
        for player, shown in zip(players, await self.tickets.touch_unread(players), strict=True):
            if shown[2][2] in _OVER:
                self._over.add(player)

    async def _left_over(self) -> list[Ticket]:
        found: list[Ticket] = []
        after = 0
        while page := await self.tickets.list_live(after, 1_000):
            found += [ticket for _, ticket in page]
            after = page[-1][0]
        return found

    async def _valkey(self) -> tuple[float, int]:
        cpu = await self.redis.info("cpu")
        stats = await self.redis.info("stats")
        used = float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])
        return used, int(stats["total_commands_processed"])


def _replica(redis: Redis, tables: MemoryTables, tickets: TicketStore, name: str) -> Matchmaker:
    clock = SystemClock()
    groups = GroupStore(redis, clock, name)
    filling = Filling(NoOpenTables(), tables, SameRatings(), tickets, WINDOW, clock)
    return Matchmaker(groups, Seating(groups, tables, clock), filling, _no_bots, WINDOW, clock)


async def _no_bots() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Met:
    """How long somebody waited, and how far apart the ratings of its match lie, in points."""

    waited_s: float
    spread: float


def population(rate: float, seat_count: int, chance: random.Random) -> list[Met]:
    """People who arrive at that rate for an hour, matched as the lobby does it."""
    met: list[Met] = []
    waiting: list[Unit] = []
    next_ms = 0.0
    for now_ms in range(0, _RATES_SECONDS * 1_000, PASS_MS):
        while next_ms <= now_ms:
            waiting.append(_arrival(round(next_ms), len(met) + len(waiting), chance))
            next_ms += chance.expovariate(rate) * 1_000
        matches, waiting = plan(waiting, seat_count, WINDOW, now_ms)
        for match in matches:
            ratings = [unit.rating_milli for unit in match]
            spread = (max(ratings) - min(ratings)) / 1_000
            met += [Met((now_ms - unit.since_ms) / 1_000, spread) for unit in match]
    return met


def _arrival(now_ms: int, order: int, chance: random.Random) -> Unit:
    rating = round(chance.gauss(_MIDDLE, _SPREAD) * 1_000)
    return Unit((Waiting(f"p{now_ms}-{order}", "", "", now_ms, rating, now_ms),))


def draw(console: Console) -> None:
    """Simulate every rate, print the medians, draw wait against spread."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(13, 6), sharey=True)
    sheet = Table("seats", "arrivals/s", "people", "wait p50 / p95", "spread p50 / p95")
    for axes, seats in zip(panels, (2, 4), strict=True):
        for rate in RATES:
            met = population(rate, seats, random.Random(7))
            waits, spreads = [each.waited_s for each in met], [each.spread for each in met]
            axes.scatter(waits, spreads, s=5, alpha=0.4, label=f"{rate:g} arrivals a second")
            row = [f"{_middle(waits)} s", f"{_middle(spreads)} points"]
            sheet.add_row(str(seats), f"{rate:g}", f"{len(met):,}", *row)
        axes.set_title(f"tables of {seats}: ratings {_MIDDLE} ± {_SPREAD}")
        axes.set_xlabel("waited, in seconds")
        axes.set_xscale("symlog", linthresh=1)
        axes.legend(markerscale=3)
    panels[0].set_ylabel("ratings of the match lie so far apart, in points")
    figure.tight_layout()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    console.print(sheet)
    console.print(f"drawn to {PICTURE.relative_to(PICTURE.parents[2])}")


def _middle(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=20)
    return f"{cuts[9]:,.1f} / {cuts[18]:,.1f}"


async def burst(valkey: Valkey, console: Console) -> bool:
    """Run the burst and print it; whether all that fit were matched."""
    clients = [open_redis(valkey.url, max_connections=MAX_CONNECTIONS) for _ in range(2)]
    one = Burst.on(clients)
    await one.run()
    times, left = await one.seated_ms(), await one.left_by_terms()
    waits = [ended - came for came, ended in times]
    tables = len(one.tables.tables)
    # The last few wait for their windows to open, which says nothing about speed.
    most_s = (times[len(times) * 9 // 10][1] - times[0][0]) / 1_000
    sheet = Table("what", "figure", title=f"{TICKETS:,} tickets in a burst, two replicas")
    for name, figure in (
        ("handed in", f"{one.enqueued_s:,.1f} s, {TICKETS / one.enqueued_s:,.0f} a second"),
        ("until nothing fitted any more", f"{one.matched_s:,.1f} s"),
        ("matches", f"{tables:,}; the first 90 %: {tables * 0.9 / most_s:,.0f} a second"),
        ("matches a second of CPU", f"{tables / (one.python_s + one.valkey_s):,.0f}"),
        ("time to match, p50 / p99 / most", Spread.of(waits).text("ms")),
        ("CPU of both replicas and the bench", f"{one.python_s:,.1f} s"),
        ("CPU of Valkey", f"{one.valkey_s:,.1f} s, {one.calls:,} commands"),
        ("share spent in Redis", f"{one.valkey_s / (one.python_s + one.valkey_s):.0%} of the CPU"),
        ("left over", ", ".join(f"{n} of {t.seat_count} seats" for t, n in left.items()) or "0"),
    ):
        sheet.add_row(name, figure)
    console.print(sheet)
    states = Counter(
        ticket.state for ticket in await one.tickets.look_at_all(one.players) if ticket
    )
    if states[TicketState.EXPIRED]:
        # Watching 10,000 tickets is the same process's work here.
        console.print(f"{states[TicketState.EXPIRED]} ended unseen: the machine is too busy")
    for client in clients:
        await client.aclose()
    is_exact = states[TicketState.SEATED] == len(waits)
    return is_exact and all(count < terms.seat_count for terms, count in left.items())


def main() -> None:
    """Measure, draw and print; status 1 where somebody who fitted was left over."""
    configure_logging("bench", "WARNING")
    console = Console(width=max(Console().width, 100))
    with tempfile.TemporaryDirectory(prefix="okey-valkey-") as home:
        valkey = Valkey(Path(home))
        valkey.start()
        try:
            is_complete = asyncio.run(burst(valkey, console))
        finally:
            valkey.kill()
    draw(console)
    sys.exit(not is_complete)


if __name__ == "__main__":
    main()
