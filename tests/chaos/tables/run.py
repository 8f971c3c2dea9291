"""``make chaos-tables``: tables with bots and checking clients while engine and database die.

Bounded by time, repeatable in what it chooses by its seed: tables, scripts, and the order of the
faults. When the time is over everybody leaves, everything is settled, the audit runs, and the
history is checked. Status 1 and a report with every finding if a promise was broken.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

from okey_runtime.clock import Clock, SystemClock
from tests.chaos.tables.books import read_booked, read_open, read_rows
from tests.chaos.tables.checker import check
from tests.chaos.tables.faults import Fault, inflict, plan
from tests.chaos.tables.history import Finding, History, Outage
from tests.chaos.tables.lateness import Lateness
from tests.chaos.tables.load import Load
from tests.chaos.tables.report import (
    BACK,
    Back,
    Report,
    Settings,
    audit_finding,
    ends_of,
    figures_of,
    refusals_of,
    write,
)
from tests.chaos.tables.script import Pace
from tests.chaos.tables.settling import until_settled
from tests.chaos.tables.stand import TablesStand, standing
from tests.fixtures.postgres import PostgresServer

REPORTS: Final = Path(__file__).parents[3] / "build" / "chaos"
_LONGEST_FAULT_S: Final = 6.0
_LONGEST_CALM_S: Final = 6.0
_BACK_TIMEOUT_S: Final = 90.0
_TELL_EVERY_S: Final = 5.0
_RAMP_S_PER_TABLE: Final = 0.08

Tell = Callable[[str], None]
Break = Callable[[Fault], Awaitable[list[Outage]]]
"""Does it and waits until everything takes work again; the times when a part was surely away."""


async def run(
    stand: TablesStand,
    settings: Settings,
    pace: Pace,
    tell: Tell,
    faults: Iterator[Fault] | None = None,
    do: Break | None = None,
    load: Load | None = None,
) -> Report:
    """Play and break for so many minutes, or until ``faults`` are through; then check."""
    clock = SystemClock()
    began_cpu_ms = _cpu_ms()
    load = load or Load(stand, clock, settings.seed, pace, settings.turn_timeout_ms)
    breaking = _Breaking(do or (lambda fault: inflict(stand, fault, clock)), load, clock)
    playing = asyncio.create_task(load.play(settings.tables, _RAMP_S_PER_TABLE * settings.tables))
    telling = asyncio.create_task(_tell_progress(load, breaking, tell))
    lateness = Lateness(clock)
    noting = asyncio.create_task(lateness.run())
    try:
        chosen = faults or plan(Random(settings.seed), _LONGEST_FAULT_S, _LONGEST_CALM_S)
        await _until_broken(breaking.go_on(chosen, settings), playing)
        tell("the faults are over: everybody leaves")
        load.finish()
        await until_settled(stand, playing)
    finally:
        beside = (telling, noting, playing)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    load_cpu_ms = _cpu_ms() - began_cpu_ms
    status, told = await stand.audit()
    # In this order nothing is booked of a table that its rows do not ask for, and what was at rest
    # before them is so still.
    still_open, booked = await read_open(stand), await read_booked(stand)
    rows = await read_rows(stand, load.table_ids)
    history = History(
        *(breaking.outages, stand.unnoticed_ms, load.clients, rows, booked),
        first_owners=stand.first_owners,
        still_open=still_open,
        own_stops=lateness.stops,
        freezes=stand.freezes(),
    )
    tell("checking what was seen")
    findings = check(history) + breaking.findings + audit_finding(status, told)
    check_cpu_ms = _cpu_ms() - began_cpu_ms - load_cpu_ms
    return Report(
        settings=settings,
        figures=figures_of(history, load_cpu_ms, check_cpu_ms),
        faults=dict(breaking.counts),
        backs=breaking.backs,
        ends=ends_of(load.clients),
        refusals=refusals_of(load.clients),
        findings=findings,
    )


def _cpu_ms() -> int:
    return time.process_time_ns() // 1_000_000


class _Breaking:
    """The faults of a run, and what came of them."""

    def __init__(self, do: Break, load: Load, clock: Clock) -> None:
        self.outages: list[Outage] = []
        self.backs: list[Back] = []
        self.counts: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self._do = do
        self._load = load
        self._clock = clock

    async def go_on(self, faults: Iterator[Fault], settings: Settings) -> None:
        """Once the tables play: one fault after another until the time is over."""
        await asyncio.sleep(_RAMP_S_PER_TABLE * settings.tables)
        await self._load.moved()
        end_ms = self._clock.monotonic_ms() + round(60_000 * settings.minutes)
        for fault in faults:
            if self._clock.monotonic_ms() >= end_ms:
                return
            name = f"{fault.target} {fault.kind}"
            try:
                async with asyncio.timeout(_BACK_TIMEOUT_S):
                    await self._once(fault, name)
            except TimeoutError:
                text = f"no move was accepted for {_BACK_TIMEOUT_S:g} s: {name}"
                self.findings.append(Finding(BACK, "", "", text))
                return
            await asyncio.sleep(fault.calm_s)

    async def _once(self, fault: Fault, name: str) -> None:
        outages = await self._do(fault)
        done_ms = self._clock.now_ms()
        await self._load.moved()
        self.outages += outages
        self.counts[name] += 1
        ended_ms = max((outage.ended_ms for outage in outages), default=done_ms)
        self.backs.append(Back(name, self._clock.now_ms() - ended_ms))


async def _tell_progress(load: Load, breaking: _Breaking, tell: Tell) -> None:
    began_s = time.monotonic()
    while True:
        await asyncio.sleep(_TELL_EVERY_S)
        tell(
            f"{time.monotonic() - began_s:.0f} s: {len(load.table_ids)} tables opened, "
            f"{load.closed_tables} closed, {load.moves} moves acknowledged, "
            f"{breaking.counts.total()} faults"
        )


async def _until_broken(breaking: Awaitable[None], playing: "asyncio.Task[None]") -> None:
    broken = asyncio.ensure_future(breaking)
    await asyncio.wait((broken, playing), return_when=asyncio.FIRST_COMPLETED)
    if playing.done():
        broken.cancel()
        playing.result()
    await broken


async def _main(folder: Path, server: PostgresServer, settings: Settings) -> Report:
    async with standing(folder, server, clock_factor=settings.clock_factor) as stand:
        return await run(stand, settings, Pace(), say)


def say(line: str) -> None:
    """A line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the command line, run, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    settings = Settings(given.tables, given.minutes, given.seed, 1, 15_000)
    folder = Path(tempfile.mkdtemp(prefix="okey-chaos-"))
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        server = PostgresServer(Path(home))
        server.start()
        try:
            report = asyncio.run(_main(folder, server, settings))
        except BaseException:
            sys.stderr.write(f"the seed was {given.seed}; logs and tokens are in {folder}\n")
            raise
        finally:
            server.stop("immediate")
    path = write(report, REPORTS)
    for name, findings in report.by_check().items():
        say(f"{'ok ' if not findings else 'RED'} {name}" + (f": {findings}" if findings else ""))
    say(f"the report is {path}")
    if not report.is_green:
        raise SystemExit(f"{len(report.findings)} findings; the services' logs are in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
