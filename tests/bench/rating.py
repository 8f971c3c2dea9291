"""`make bench`, the boards under load: a rating service in a process of its own, a board of a
million players, 200 reads a second and 20 matches a second beside them.

For PostgreSQL with fsync on, and for SQLite. A call is timed from when it was due, so that
a service that falls behind shows it. Then 40 matches a second alone, for what an update costs.
"""

import asyncio
import itertools
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import grpc
import uvloop
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, select, text

from okey.api.common.v1 import common_pb2
from okey.api.rating.v1 import rating_pb2, rating_pb2_grpc
from okey.rating import Ladder
from okey_runtime.channel import open_channel
from okey_runtime.database import Database, Isolation
from okey_runtime.identity import Role
from okey_runtime.migrations import migrate
from services.rating.app import MIGRATIONS
from services.rating.counting import Board, recount
from services.rating.schema import ratings
from services.rating.section import Section
from tests.bench.figures import Spread
from tests.bench.wallet import cpu_s, process, wait_for
from tests.fixtures.issuer import Issuer
from tests.fixtures.limits import UNLIMITED_VARIABLES
from tests.fixtures.postgres import PostgresServer

PLAYERS: Final = 1_000_000
PAGE: Final = 50
PLACES: Final = ("top", "middle", "bottom")
NEEDED_RATIO: Final = 3.0
"""How many times as long a place of the board may take as another."""
PASSES: Final = 3
WARM_S: Final = 3
MIXED_S: Final = 20
ALONE_S: Final = 8
READS_PER_S: Final = 200
MATCHES_PER_S: Final = 20
MATCHES_ALONE_PER_S: Final = 40
AT_A_PLACE: Final = 25
MATCH: Final = "a match, beside reads"
LADDER: Final = rating_pb2.LADDER_CANAK
TABLE_ID: Final = "b" * 26

_AT_ONCE: Final = 50_000

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

Stub = rating_pb2_grpc.RatingServiceStub
Call = Callable[[], Awaitable[object]]


@dataclass
class Figures:
    """What was measured: milliseconds by call, CPU seconds by process."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    mixed_cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    alone_cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: int = 0

    def us_per_match(self, process_name: str) -> float:
        """CPU of a process for one match, measured with matches alone."""
        return self.alone_cpu_s[process_name] / (PASSES * ALONE_S * MATCHES_ALONE_PER_S) * 1e6

    def us_per_read(self, process_name: str) -> float:
        """CPU of a process for one read: of the mixed load, without what its matches cost."""
        matches = PASSES * MIXED_S * MATCHES_PER_S * self.us_per_match(process_name)
        return (self.mixed_cpu_s[process_name] * 1e6 - matches) / (PASSES * MIXED_S * READS_PER_S)

    def worst_ratio(self) -> float:
        """The median of the slowest place to that of the fastest, for ranks or for neighbours."""
        medians = {
            what: [Spread.of(self.times[f"{what}, {place}"]).p50 for place in PLACES]
            for what in ("rank", "neighbours")
        }
        return max(max(each) / min(each) for each in medians.values())

    async def take(self, name: str, call: Call, due_s: float) -> None:
        """Make one call, and note how long after it was due it was answered."""
        try:
            await call()
        except grpc.aio.AioRpcError as error:
            self.failed += 1
            Console(stderr=True).print(f"{name}: {error.code()}: {error.details()}")
        self.times[name].append((asyncio.get_running_loop().time() - due_s) * 1000)


@dataclass
class Questions:
    """What is asked of a service: reads of every kind, and matches of random players."""

    players: Mapping[str, Sequence[str]]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    chance: random.Random = field(default_factory=lambda: random.Random(20))

    async def reads(self, stub: Stub) -> dict[str, Call]:
        """Every kind of read by its name."""
        deep = (await stub.ListLeaderboard(self._around("middle"))).next_page_token
        return {
            **{f"rank, {place}": partial(self._rank, stub, place) for place in PLACES},
            "first page": partial(self._page, stub, ""),
            "page, middle": partial(self._page, stub, deep),
            **{f"neighbours, {place}": partial(self._near, stub, place) for place in PLACES},
        }

    async def play(self, stub: Stub) -> None:
        """One more match of four."""
        owners = self.chance.sample(range(PLAYERS), 4)
        await stub.RecordMatch(
            rating_pb2.RecordMatchRequest(
                table_id=TABLE_ID,
                match_id=f"{TABLE_ID}-{next(self.numbers)}",
                variant=common_pb2.VARIANT_CANAK,
                mode=common_pb2.MODE_NORMAL,
                seats=[rating_pb2.MatchSeat(player_id=f"p{owner}") for owner in owners],
                result=rating_pb2.MatchResult(canak_win=rating_pb2.CanakWin(winner_seat=0)),
                ended_ms=1_000_000,
            )
        )

    async def _rank(self, stub: Stub, place: str) -> None:
        await stub.GetRank(rating_pb2.GetRankRequest(ladder=LADDER, player_id=self._one(place)))

    async def _page(self, stub: Stub, token: str) -> None:
        request = rating_pb2.ListLeaderboardRequest(ladder=LADDER, page_size=PAGE)
        if token:
            request.page_token = token
        assert len((await stub.ListLeaderboard(request)).entries) == PAGE

    async def _near(self, stub: Stub, place: str) -> None:
        await stub.ListLeaderboard(self._around(place))

    def _one(self, place: str) -> str:
        return self.chance.choice(self.players[place])

    def _around(self, place: str) -> rating_pb2.ListLeaderboardRequest:
        return rating_pb2.ListLeaderboardRequest(
            ladder=LADDER, page_size=PAGE, around_player_id=self._one(place)
        )


def pids_of(server: PostgresServer) -> list[int]:
    """The server's process and all its children."""
    pid = int((server.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, children.split())]


async def at_rate(figures: Figures, calls: Mapping[str, Call], per_s: int, seconds: float) -> None:
    """So many calls a second, the kinds taking turns, whether or not those before are answered."""
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    names = itertools.cycle(calls)
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(per_s * seconds)):
            due_s = start_s + number / per_s
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            name = next(names)
            tasks.create_task(figures.take(name, calls[name], due_s))


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[tuple[int, Stub, Stub]]:
    """A rating service: its process, and stubs of a reader and of the engine."""
    with tempfile.TemporaryDirectory(prefix="okey-bench-") as home:
        folder = Path(home)
        issuer = Issuer(folder)
        address = folder / "address.json"
        settings = {
            "OKEY_ENVIRONMENT": "test",
            "OKEY_DATABASE_URL": url,
            "OKEY_JWKS_FILE": str(issuer.jwks_file),
            "OKEY_ADDRESS_FILE": str(address),
            "OKEY_LOG_LEVEL": "ERROR",
            **UNLIMITED_VARIABLES,
        }
        async with process("services.rating", settings) as (pid, _):
            await asyncio.wait_for(asyncio.to_thread(wait_for, address), 30)
            where = json.loads(address.read_text())["grpc"]
            tokens = [
                issuer.metadata("bench", role, to="rating") for role in (Role.LOBBY, Role.ENGINE)
            ]
            async with (
                open_channel(where, token=tokens[0]) as reader,
                open_channel(where, token=tokens[1]) as engine,
            ):
                yield pid, Stub(reader), Stub(engine)


async def one_pass(
    figures: Figures, url: str, questions: Questions, postgres: PostgresServer | None
) -> None:
    """A service from its start: warm, then the mixed load, then matches alone."""

    def cpu() -> dict[str, float]:
        used = {"service": cpu_s(pid)}
        if postgres is not None:
            used["PostgreSQL"] = sum(map(cpu_s, pids_of(postgres)))
        return used

    def note(into: dict[str, float], before: Mapping[str, float]) -> None:
        for name, seconds in cpu().items():
            into[name] += seconds - before[name]

    warm = Figures()
    async with serving(url) as (pid, reader, engine):
        reads = await questions.reads(reader)
        matches = {MATCH: partial(questions.play, engine)}
        await at_rate(warm, {**reads, **matches}, READS_PER_S, WARM_S)
        before = cpu()
        await asyncio.gather(
            at_rate(figures, reads, READS_PER_S, MIXED_S),
            at_rate(figures, matches, MATCHES_PER_S, MIXED_S),
        )
        note(figures.mixed_cpu_s, before)
        before = cpu()
        alone = {"a match, alone": partial(questions.play, engine)}
        await at_rate(figures, alone, MATCHES_ALONE_PER_S, ALONE_S)
        note(figures.alone_cpu_s, before)


def fill(connection: Connection) -> None:
    """Make the players and their counts."""
    for first in range(0, PLAYERS, _AT_ONCE):
        connection.execute(text(_FILL), {"first": first, "last": first + _AT_ONCE - 1})
    recount(connection, Board(1, Ladder.CANAK))
    connection.exec_driver_sql("ANALYZE")


def players_near(connection: Connection) -> dict[str, list[str]]:
    """Some players at the top, in the middle and at the bottom."""
    listed = select(ratings.c.player_id).where(ratings.c.season == 1, ratings.c.ladder == LADDER)
    listed = listed.where(ratings.c.section == Section.ESTABLISHED)
    listed = listed.order_by(ratings.c.rating_milli.desc(), ratings.c.player_id).limit(AT_A_PLACE)
    offsets = zip(PLACES, (10, PLAYERS // 2, PLAYERS - 2 * AT_A_PLACE), strict=True)
    return {
        place: list(connection.execute(listed.offset(offset)).scalars())
        for place, offset in offsets
    }


async def measure(name: str, url: str, server: PostgresServer | None) -> float:
    """Fill a database, ask it, and print what came of it; the worst ratio of two places."""
    await migrate(url, MIGRATIONS)
    database = Database(url)
    await database.transact(fill, Isolation.READ_COMMITTED)
    questions = Questions(await database.read(players_near))
    await database.close()
    figures = Figures()
    for _ in range(PASSES):
        await one_pass(figures, url, questions, server)
    Console(width=110).print(sheet(f"{PLAYERS:,} players, {name}", figures))
    return figures.worst_ratio()


def sheet(title: str, figures: Figures) -> Table:
    """Each call's times, and CPU for a read and for a match."""
    table = Table("what", "p50 / p99 / most", title=title)
    for name, times in figures.times.items():
        table.add_row(name, Spread.of(times).text("ms"))
    for name in figures.mixed_cpu_s:
        table.add_row(f"CPU a read, {name}", f"{figures.us_per_read(name):,.0f} µs")
        table.add_row(f"CPU a match, {name}", f"{figures.us_per_match(name):,.0f} µs")
    table.add_row("slowest place / fastest", f"{figures.worst_ratio():.2f}")
    table.add_row("calls that failed", str(figures.failed))
    return table


async def main() -> None:
    """Measure PostgreSQL, then SQLite; status 1 where the depth matters."""
    with tempfile.TemporaryDirectory(prefix="okey-bench-", dir="/tmp") as home:
        server = PostgresServer(Path(home), is_durable=True)
        server.start()
        try:
            ratios = [await measure("PostgreSQL", server.create_database(), server)]
        finally:
            server.stop("immediate")
        ratios.append(await measure("SQLite", f"sqlite:///{home}/rating.db", None))
    sys.exit(max(ratios) > NEEDED_RATIO)


if __name__ == "__main__":
    uvloop.run(main())
