"""`make bench`, the wallet: settlements over gRPC beside a bare echo and bare commits.

For each database, in the same run and in turns: an echo without anything behind it, commits of one
row without anything before them, settlements of Çanak matches of four at a wallet in a process of
its own; and, without gRPC, settlements of three legs, one of them a house account's or none. 64 are
in flight. What compares between machines are the ratios.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import grpc
import uvloop
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sqlalchemy import Connection, text

from okey.api.common.v1 import common_pb2
from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey.money.outcome import KlasikDraw, KlasikWin, Outcome
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Variant
from okey_runtime.channel import open_channel
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database, Isolation
from okey_runtime.identity import Role
from okey_runtime.migrations import migrate
from services.wallet.app import MIGRATIONS
from services.wallet.books import House
from services.wallet.command import SettleMatch
from services.wallet.wallet import Wallet
from tests.bench.echo import METHOD
from tests.contract.wallet_play import VERSION, Play
from tests.fixtures.issuer import Issuer
from tests.fixtures.ledger import make_ledger
from tests.fixtures.limits import UNLIMITED_VARIABLES
from tests.fixtures.postgres import PostgresServer

PASSES: Final = 5
IN_FLIGHT: Final = 64
ECHOES: Final = 1_500
COMMITS: Final = 400
SETTLEMENTS: Final = 400
HOUSE_SETTLEMENTS: Final = 200
NEEDED_RATIO: Final = 0.25

WON: Final = KlasikWin(0)
DRAWN: Final = KlasikDraw((0, 1))
HOUSE: Final = House(
    rule_sets={VERSION: DEFAULT_RULE_SET},
    current_version=VERSION,
    welcome_chips=1_000,
    approval_limit_chips=None,
)

Call = Callable[[], Awaitable[object]]


async def per_second(calls: Sequence[Call]) -> float:
    """How many a second, so many in flight."""
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call()

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return len(calls) / (time.perf_counter() - start)


@dataclass
class Bench:
    """One database, its wallet's address, and matches that are yet to be settled."""

    database: Database
    wallet_pid: int
    stub: wallet_pb2_grpc.WalletServiceStub
    echo: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
    figures: dict[str, list[float]] = field(default_factory=dict)
    cpu_us: list[float] = field(default_factory=list)
    _tables: int = 0

    @cached_property
    def wallet(self) -> Wallet:
        """A wallet without gRPC."""
        return Wallet(self.database, HOUSE, SystemClock())

    async def started(self, count: int, variant: Variant, seats: int) -> list[Play]:
        """Matches that have started, each with a table and people of its own."""
        plays = []
        for _ in range(count):
            self._tables += 1
            plays.append(Play(self.wallet, table_id=f"{self._tables:026}", variant=variant))
        await per_second([_Start(play, seats) for play in plays])
        return plays

    async def one_pass(self) -> None:
        """Each of the figures once more."""
        payload = b"x" * 200
        echoes = await per_second([lambda: self.echo(payload)] * ECHOES)
        self._note("bare gRPC echo", echoes)
        commits: list[Call] = [lambda: self.database.transact(_commit, Isolation.READ_COMMITTED)]
        self._note("bare commits", await per_second(commits * COMMITS))
        matches = await self.started(SETTLEMENTS, Variant.CANAK, 4)
        before_s = cpu_s(self.wallet_pid)
        settled = await per_second([_Settlement(self.stub, play.match_id) for play in matches])
        self._note("settlements over gRPC", settled)
        self.cpu_us.append((cpu_s(self.wallet_pid) - before_s) / SETTLEMENTS * 1e6)
        for outcome, name in (
            *((WON, "with house:rake"), (DRAWN, "without it")),
            *((DRAWN, "without it"), (WON, "with house:rake")),
        ):
            matches = await self.started(HOUSE_SETTLEMENTS, Variant.KLASIK, 2)
            calls: list[Call] = [_Direct(play, outcome) for play in matches]
            self._note(f"settlements {name}", await per_second(calls))

    def _note(self, name: str, figure: float) -> None:
        self.figures.setdefault(name, []).append(figure)


@dataclass(frozen=True)
class _Settlement:
    """One settlement over gRPC."""

    stub: wallet_pb2_grpc.WalletServiceStub
    match_id: str

    def __call__(self) -> Awaitable[object]:
        win = wallet_pb2.CanakWin(seat=1, finish=common_pb2.FINISH_KIND_NORMAL)
        request = wallet_pb2.SettleMatchRequest(
            idempotency_key=f"{self.match_id}:settle",
            match_id=self.match_id,
            outcome=wallet_pb2.MatchOutcome(canak_win=win),
        )
        return self.stub.SettleMatch(request)


@dataclass(frozen=True)
class _Direct:
    """One settlement without gRPC."""

    play: Play
    outcome: Outcome

    def __call__(self) -> Awaitable[object]:
        return self.play.ask(SettleMatch(match_id=self.play.match_id, outcome=self.outcome))


@dataclass(frozen=True)
class _Start:
    """One match from its stakes to its start."""

    play: Play
    seats: int

    async def __call__(self) -> None:
        """Hold and start."""
        table = self.play.table_id
        for seat in range(self.seats):
            await self.play.hold(seat, f"{table}{seat}")
        holds = [self.play.hold_id(seat) for seat in range(self.seats)]
        await self.play.ask(self.play.starting(*holds))


def _commit(connection: Connection) -> None:
    connection.execute(text("INSERT INTO bare (chips) VALUES (1)")).close()


def cpu_s(pid: int) -> float:
    """What a process has used of the CPU, in seconds (Linux)."""
    of_process = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(of_process[11]) + int(of_process[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def process(
    module: str, environment: dict[str, str]
) -> AsyncIterator[tuple[int, asyncio.StreamReader]]:
    """A module of ours as a process, and what it prints."""
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module),
        env={"PATH": os.environ["PATH"], **environment},
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    assert running.stdout is not None
    try:
        yield running.pid, running.stdout
    finally:
        running.terminate()
        await running.wait()


@asynccontextmanager
async def serving(url: str, folder: Path) -> AsyncIterator[Bench]:
    """A wallet on the database, and an echo, each in a process of its own."""
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
    async with (
        process("services.wallet", settings) as (wallet_pid, _),
        process("tests.bench.echo", {}) as (_, echo),
    ):
        port = int(await echo.readline())
        await asyncio.wait_for(asyncio.to_thread(wait_for, address), 30)
        where = json.loads(address.read_text())["grpc"]
        token = issuer.metadata("bench", Role.ENGINE, to="wallet")
        database = Database(url, connections=16)
        async with (
            open_channel(where, token=token) as channel,
            open_channel(f"127.0.0.1:{port}") as bare,
        ):
            stub = wallet_pb2_grpc.WalletServiceStub(channel)
            yield Bench(database, wallet_pid, stub, bare.unary_unary(METHOD))
        await database.close()


def wait_for(path: Path) -> None:
    """Until the file is there."""
    while not path.exists():
        time.sleep(0.05)


async def measure(url: str, console: Console, name: str) -> None:
    """All figures of one database."""
    with tempfile.TemporaryDirectory() as folder:
        async with serving(url, Path(folder)) as bench:
            for _ in track(range(PASSES), f"measuring on {name}", console=console):
                await bench.one_pass()
    medians = {key: statistics.median(each) for key, each in bench.figures.items()}
    smaller = min(medians["bare gRPC echo"], medians["bare commits"])
    sheet = Table(f"the wallet on {name}", "a second, median", "least", "most", "x the smaller")
    for key, each in bench.figures.items():
        row = (f"{medians[key]:,.0f}", f"{min(each):,.0f}", f"{max(each):,.0f}")
        sheet.add_row(key, *row, f"{medians[key] / smaller:.2f}")
    console.print(sheet)
    cost = medians["settlements without it"] / medians["settlements with house:rake"] - 1
    cpu_us = statistics.median(bench.cpu_us)
    console.print(
        f"a house account costs {cost:+.1%}; {NEEDED_RATIO} x the smaller is needed; the wallet's "
        f"process used {cpu_us:,.0f} µs of CPU a settlement"
    )


async def main() -> None:
    """Measure SQLite, then PostgreSQL with fsync on."""
    console = Console(width=max(Console().width, 100))
    with tempfile.TemporaryDirectory(prefix="okey-bench-") as home:
        url = f"sqlite:///{home}/wallet.db"
        await migrate(url, MIGRATIONS)
        await prepare(url, "CREATE TABLE bare (id INTEGER PRIMARY KEY, chips BIGINT)")
        await measure(url, console, "SQLite")
    with tempfile.TemporaryDirectory(prefix="okey-bench-", dir="/tmp") as home:
        server = PostgresServer(Path(home), is_durable=True)
        server.start()
        try:
            urls = await make_ledger(server)
            columns = "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, chips BIGINT"
            await prepare(urls.superuser, f"CREATE TABLE bare ({columns})")
            await prepare(urls.superuser, "GRANT INSERT ON bare TO wallet_app")
            await measure(urls.application, console, "PostgreSQL")
        finally:
            server.stop()


async def prepare(url: str, statement: str) -> None:
    """One statement."""
    database = Database(url, connections=1)
    await database.transact(lambda connection: connection.execute(text(statement)).close())
    await database.close()


if __name__ == "__main__":
    uvloop.run(main())
