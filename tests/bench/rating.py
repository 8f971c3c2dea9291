"""`make bench`, the ratings: a million players, and what the rating finds out about them.

For each database: a rank and the page around a player at the top, in the middle and at the bottom
of a board of a million. The three take turns, so that a machine whose speed drifts slows all of
them alike; what counts is the ratio of the slowest place to the fastest. Beside them a rank counted
by looking at everybody above, for comparison, and reports a second.

Then 100,000 matches between people of known strength, drawn to ``build/rating.png``.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select, text

from okey.rating import Ladder
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import configure_logging
from okey_runtime.migrations import migrate
from services.rating.app import MIGRATIONS
from services.rating.counting import Board, recount
from services.rating.rulebook import RuleBook
from services.rating.schema import ratings
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match
from tests.fixtures.postgres import PostgresServer
from tests.unit.rating.population import Person, Population, rank_correlation

PLAYERS: Final = 1_000_000
ROUNDS: Final = 60
PAGE: Final = 50
REPORTS: Final = 200
NEEDED_RATIO: Final = 3.0
_AT_ONCE: Final = 50_000
PEOPLE, MATCHES = 1_000, 100_000
PICTURE: Final = Path(__file__).parents[2] / "build" / "rating.png"
PLACES: Final = ("top", "middle", "bottom")

# Ratings that lie as a population's do: the sum of four even spreads, 1200 in the middle.
_FILL: Final = """
INSERT INTO ratings (ladder, player_id, season, rating_milli, rated_matches, section)
WITH RECURSIVE numbers(n) AS (
    SELECT CAST(:first AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last
)
SELECT 1, 'p' || n, 1,
    600000 + (n * 7919) % 300007 + (n * 104729) % 299993 + (n * 1299709) % 300017
        + (n * 15485863) % 299977, 30, 1
FROM numbers
"""

Call = Callable[[], Awaitable[object]]


def fill(connection: Connection) -> None:
    """Make the players and their counts."""
    for first in range(0, PLAYERS, _AT_ONCE):
        connection.execute(text(_FILL), {"first": first, "last": first + _AT_ONCE - 1})
    recount(connection, Board(1, Ladder.CANAK))
    connection.exec_driver_sql("ANALYZE")


def players_at(connection: Connection) -> dict[str, str]:
    """Who stands at the top, in the middle and at the bottom."""
    listed = select(ratings.c.player_id).where(ratings.c.season == 1, ratings.c.ladder == 1)
    listed = listed.where(ratings.c.section == Section.ESTABLISHED)
    order = (ratings.c.rating_milli.desc(), ratings.c.player_id)
    offsets = zip(PLACES, (10, PLAYERS // 2, PLAYERS - 11), strict=True)
    return {
        place: connection.execute(listed.order_by(*order).offset(offset).limit(1)).scalar_one()
        for place, offset in offsets
    }


def count_one_by_one(connection: Connection, player_id: str) -> int:
    """A rank as it would be without the counts."""
    mine = select(ratings.c.rating_milli).where(ratings.c.player_id == player_id)
    mine = mine.where(ratings.c.ladder == 1, ratings.c.season == 1)
    above = select(func.count()).where(
        ratings.c.season == 1,
        ratings.c.ladder == 1,
        ratings.c.section == Section.ESTABLISHED,
        ratings.c.rating_milli > mine.scalar_subquery(),
    )
    return connection.execute(above).scalar_one()


async def medians_ms(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """The median time of each call, the calls taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            await call()
            times[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


class Bench:
    """One database and its board."""

    def __init__(self, name: str, database: Database) -> None:
        self._name = name
        self._database = database
        self._store = RatingStore(database, RuleBook(DEFAULT_RULE_SET))
        self.table = Table(
            *("what", *(f"{place}, ms" for place in PLACES), "slowest / fastest"),
            title=f"{PLAYERS:,} players, {name}",
        )
        self.worst = 0.0

    async def run(self) -> None:
        """Fill, measure, report matches."""
        console = Console(stderr=True)
        console.print(f"filling {self._name} ...")
        await self._database.transact(fill, Isolation.READ_COMMITTED)
        places = await self._database.read(players_at)
        await self._measure("rank, counted one by one", places, self._one_by_one, 3, counts=False)
        ladder = Ladder.CANAK
        await self._measure("rank", places, lambda player: self._store.rank(ladder, player), ROUNDS)
        await self._measure(
            f"page of {PAGE} around",
            places,
            lambda player: self._store.page_around(ladder, player, PAGE),
            ROUNDS,
        )
        rate = await self._reports_a_second()
        self.table.caption = f"{rate:.0f} reports of matches a second, one after another"

    async def _measure(
        self,
        what: str,
        places: dict[str, str],
        ask: Callable[[str], Awaitable[object]],
        rounds: int,
        *,
        counts: bool = True,
    ) -> None:
        def at(player: str) -> Call:
            return lambda: ask(player)

        found = await medians_ms({place: at(player) for place, player in places.items()}, rounds)
        ratio = max(found.values()) / min(found.values())
        self.table.add_row(what, *(f"{found[place]:.2f}" for place in PLACES), f"{ratio:.2f}")
        if counts:
            self.worst = max(self.worst, ratio)

    async def _one_by_one(self, player: str) -> object:
        return await self._database.read(lambda connection: count_one_by_one(connection, player))

    async def _reports_a_second(self) -> float:
        started = time.perf_counter()
        for number in range(1, REPORTS + 1):
            seats = [f"p{number * 4 + seat}" for seat in range(4)]
            await self._store.record_match(a_match(number, *seats))
        return REPORTS / (time.perf_counter() - started)


def draw(population: Population, quitters: list[Person], correlation: float) -> None:
    """Everybody's strength and rating as a picture: those who play to the end, then all."""
    PICTURE.parent.mkdir(exist_ok=True)
    gone = {id(person) for person in quitters}
    stayed = [person for person in population.people if id(person) not in gone]
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6.5))
    for axes in (left, right):
        _scatter(axes, stayed, "play to the end")
        axes.axline((1200, 1200), slope=1, color="grey", linewidth=1)
        axes.set_xlabel("strength, in points")
        axes.set_ylabel("rating, in points")
    _scatter(right, quitters, "give up when they are about to lose")
    right.legend()
    left.set_title(f"{len(stayed):,} who play to the end: rank correlation {correlation:.4f}")
    right.set_title(
        f"all {PEOPLE:,} after {MATCHES:,} matches: {population.forfeits:,} forfeits, "
        f"{population.sink_milli / 1000:,.0f} points in the sink"
    )
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def _scatter(axes: Axes, people: list[Person], label: str) -> None:
    strengths = [person.strength for person in people]
    axes.scatter(strengths, [each.points for each in people], s=6, alpha=0.6, label=label)


def simulate(console: Console) -> None:
    """Known strengths, rated; every twentieth person leaves lost matches."""
    population = Population.of(PEOPLE, seed=1)
    quitters = population.people[::20]
    population.play_at_random(MATCHES, quitters)
    stayed = [each for number, each in enumerate(population.people) if number % 20]
    correlation = rank_correlation(
        [person.strength for person in stayed], [person.points for person in stayed]
    )
    draw(population, quitters, correlation)
    drift = population.total_milli() - PEOPLE * 1_200_000
    console.print(
        f"{PEOPLE:,} people, {MATCHES:,} matches, {population.forfeits:,} forfeits: rank "
        f"correlation {correlation:.4f} among who stayed, ratings and sink off by {drift} "
        f"milli-points; drawn to {PICTURE.relative_to(PICTURE.parents[1])}"
    )


async def bench(folder: Path, server: PostgresServer) -> float:
    """Measure both databases; the worst ratio of all."""
    worst = 0.0
    urls = {"SQLite": f"sqlite:///{folder / 'rating.db'}", "PostgreSQL": server.create_database()}
    for name, url in urls.items():
        await migrate(url, MIGRATIONS)
        database = Database(url)
        one = Bench(name, database)
        await one.run()
        await database.close()
        Console().print(one.table)
        worst = max(worst, one.worst)
    return worst


def main() -> None:
    """Measure, draw and print; status 1 where the depth matters."""
    configure_logging("bench", "WARNING")
    console = Console()
    simulate(console)
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        server = PostgresServer(Path(home), is_durable=True)
        server.start()
        try:
            worst = asyncio.run(bench(Path(home), server))
        finally:
            server.stop("immediate")
    console.print(f"worst ratio of the slowest place to the fastest: {worst:.2f}")
    sys.exit(worst > NEEDED_RATIO)


if __name__ == "__main__":
    main()
