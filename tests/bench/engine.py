"""`make bench`, the engine: each figure beside its limit, in one run.

`python -m tests.bench.engine commands watch live turns` runs the named parts, all without a name.
Everything listens on loopback only; the report goes to build/bench/engine.md.
"""

import argparse
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import uvloop
from rich.console import Console

from okey_runtime.garbage import look_seldom
from okey_runtime.migrations import migrate
from services.engine.app import MIGRATIONS
from tests.bench.engine_commands import CommandFigures, measure_commands
from tests.bench.engine_fan_out import measure_fan_out
from tests.bench.engine_live import LiveFigures, measure_live
from tests.bench.engine_report import (
    PICTURE,
    Sheet,
    draw_growth,
    judged_sheet,
    profile_sheets,
    write,
)
from tests.bench.engine_stand import Stand
from tests.bench.engine_turns import measure_turns
from tests.bench.figures import Judged
from tests.fixtures.postgres import PostgresServer

FOLDER: Final = Path("build/bench")
GROWTH: Final = (100, 300, 1_000, 3_000, 10_000)
"""Numbers of live tables; the last one is the one that is judged."""
_SHORT_S: Final = 30
_LONG_S: Final = 60
_TURNS: Final = 10

_COMMAND_LIMIT: Final = 2.0
_COMMAND_AIM: Final = 1.6
_FAN_OUT_LIMIT: Final = 0.6
_TABLE_KIB_LIMIT: Final = 40.0
_LATE_MS_LIMIT: Final = 50.0
_LATENCY_MS_LIMIT: Final = 50.0


class Bench:
    """One run: what was found so far."""

    def __init__(self, console: Console) -> None:
        self.judged: list[Judged] = []
        self.sheets: list[Sheet] = []
        self.has_picture = False
        self._console = console

    async def commands(self) -> None:
        """CPU a command on both databases, and a profile."""
        heads = (
            *("database", "engine µs", "bare µs", "x bare", "engine /s"),
            *("x bare that gives way", "bare hurried µs", "bare hurried /s", "x bare hurried"),
            "bytes",
        )
        sheet = Sheet("A command over Play: server CPU, and as fast as it goes", heads)
        async with self._sqlite("commands on SQLite") as (stand, url):
            self._add_commands(sheet, "SQLite", await measure_commands(stand, url))
        async with self._postgres("commands on PostgreSQL") as (stand, url):
            self._add_commands(sheet, "PostgreSQL", await measure_commands(stand, url))
        self.sheets.append(sheet)
        profile = FOLDER / "engine-profile.json"
        async with self._sqlite("a profile") as (stand, url):
            await measure_commands(stand, url, 3, profile)
        self.sheets += profile_sheets(profile)

    async def watch(self) -> None:
        """Deliveries to watchers of one table."""
        async with self._sqlite("watchers of one table") as (stand, url):
            figures = await measure_fan_out(stand, url)
        heads = ("server", "deliveries a CPU second", "deliveries a second")
        sheet = Sheet("Watchers: updates delivered, pass by pass", heads)
        for name, passes in (("engine", figures.engine), ("bare", figures.bare)):
            sheet.rows += [
                (name, f"{each.per_cpu_s:,.0f}", f"{each.per_s:,.0f}") for each in passes
            ]
        self.sheets.append(sheet)
        self.judged.append(
            Judged("watch fan-out", figures.ratio, _FAN_OUT_LIMIT, "x bare", is_floor=True)
        )

    async def live(self) -> None:
        """Live tables without streams, from few to many."""
        figures = []
        for tables in GROWTH:
            seconds = _LONG_S if tables == GROWTH[-1] else _SHORT_S
            async with self._sqlite(f"{tables:,} live tables, {seconds} s") as (stand, url):
                figures.append(await measure_live(stand, url, tables, seconds))
        heads = ("tables", "ready s", "MiB", "CPU", "clock late p50/p99/max", "command p50/p99/max")
        sheet = Sheet("Live tables, one command each in 30 s, no streams", heads)
        for each in figures:
            sheet.rows.append(
                (
                    f"{each.tables:,}",
                    f"{each.ready_s:.1f}",
                    f"{each.memory_bytes / 2**20:,.0f}",
                    f"{each.cpu_share:.0%}",
                    each.lateness_ms.text("ms"),
                    each.latency_ms.text("ms"),
                )
            )
        self.sheets.append(sheet)
        draw_growth(figures, FOLDER / PICTURE)
        self.has_picture = True
        most = f"at {figures[-1].tables:,} tables"
        kib = _kib_a_table(figures)
        late_ms = figures[-1].lateness_ms.p99
        self.judged += [
            Judged(f"memory a table {most}", kib, _TABLE_KIB_LIMIT, "KiB"),
            Judged(f"clock late, p99, {most}", late_ms, _LATE_MS_LIMIT, "ms"),
        ]

    async def turns(self) -> None:
        """Tables with everybody on a stream."""
        heads = ("tables", "command p50/p99/max", "commands /s", "CPU")
        sheet = Sheet("A turn each 3 s at every table, everybody on a stream", heads)
        for tables, aim in ((1_000, ""), (2_000, " (aim)")):
            async with self._sqlite(f"{tables:,} tables with streams") as (stand, url):
                figures = await measure_turns(stand, url, tables, _TURNS)
            latency = figures.latency_ms
            rate = f"{figures.commands_per_s:,.0f}"
            row = (f"{tables:,}", latency.text("ms"), rate, f"{figures.cpu_share:.0%}")
            sheet.rows.append(row)
            name = f"command p99 at {tables:,} tables{aim}"
            self.judged.append(Judged(name, latency.p99, _LATENCY_MS_LIMIT, "ms"))
        self.sheets.append(sheet)

    def _add_commands(self, sheet: Sheet, name: str, figures: CommandFigures) -> None:
        engine, bare = figures.engine, figures.bare
        sheet.rows.append(
            (
                name,
                f"{engine.cpu_us:,.0f}",
                f"{bare.cpu_us:,.0f}",
                f"{figures.ratio:.2f}",
                f"{engine.per_s:,.0f}",
                f"{figures.giving_way_ratio:.2f}",
                f"{figures.bare_hurried.cpu_us:,.0f}",
                f"{figures.bare_hurried.per_s:,.0f}",
                f"{figures.hurried_ratio:.2f}",
                " / ".join(map(str, figures.pairs[-1].sizes)),
            )
        )
        self.judged.append(
            Judged(
                f"CPU a command on {name}", figures.ratio, _COMMAND_LIMIT, "x bare", _COMMAND_AIM
            )
        )

    @asynccontextmanager
    async def _sqlite(self, what: str) -> AsyncIterator[tuple[Stand, str]]:
        with tempfile.TemporaryDirectory(prefix="okey-bench-") as home:
            async with self._stand(what, Path(home), f"sqlite:///{home}/engine.db") as found:
                yield found

    @asynccontextmanager
    async def _postgres(self, what: str) -> AsyncIterator[tuple[Stand, str]]:
        with (
            tempfile.TemporaryDirectory(prefix="okey-bench-", dir="/tmp") as home,
            tempfile.TemporaryDirectory(prefix="okey-bench-") as folder,
        ):
            server = PostgresServer(Path(home), is_durable=True)
            server.start()
            try:
                async with self._stand(what, Path(folder), server.create_database()) as found:
                    yield found
            finally:
                server.stop()

    @asynccontextmanager
    async def _stand(self, what: str, folder: Path, url: str) -> AsyncIterator[tuple[Stand, str]]:
        with self._console.status(f"measuring {what}"):
            await migrate(url, MIGRATIONS)
            async with Stand(folder) as stand:
                yield stand, url
        self._console.print(f"measured {what}")


def _kib_a_table(figures: list[LiveFigures]) -> float:
    """What each table more costs, from the least number of tables to the most."""
    least, most = figures[0], figures[-1]
    return (most.memory_bytes - least.memory_bytes) / (most.tables - least.tables) / 1024


async def main() -> None:
    """Measure what was asked for, then report."""
    console = Console(width=max(Console().width, 120))
    bench = Bench(console)
    parts: dict[str, Callable[[], Awaitable[None]]] = {
        "commands": bench.commands,
        "watch": bench.watch,
        "live": bench.live,
        "turns": bench.turns,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(parts)}; all unless said")
    asked = parser.parse_args().parts or list(parts)
    if unknown := sorted(set(asked) - set(parts)):
        parser.error(f"no such part: {', '.join(unknown)}; choose of {', '.join(parts)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    look_seldom()  # players' pauses would count as the engine's
    for name in asked:
        await parts[name]()
    sheets = [judged_sheet(bench.judged), *bench.sheets]
    write(FOLDER, sheets, console, has_picture=bench.has_picture)


if __name__ == "__main__":
    uvloop.run(main())
