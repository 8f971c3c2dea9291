"""``make chaos``: three engines and 200 tables with bots and checking clients, while engines die,
leave, hang, lose their database or their clock, and PostgreSQL and Valkey restart.

Bounded by time, repeatable in what it chooses by its seed. When the time is over everybody leaves,
everything is settled, the audit runs, and the history is checked. Status 1 and a report with every
finding if a promise was broken; 2 where the machine lacks the tools.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Final

from okey_runtime.clock import SystemClock
from tests.chaos.cluster.faults import ALL, Breaker, plan
from tests.chaos.cluster.load import ClusterLoad
from tests.chaos.cluster.net import Partition, enter_own_network
from tests.chaos.cluster.stand import DATABASE_HOSTS, Tempo, standing
from tests.chaos.cluster.tools import ToolsMissing
from tests.chaos.tables.report import Report, Settings, write
from tests.chaos.tables.run import REPORTS, run, say
from tests.chaos.tables.script import Pace
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey

UNUSABLE: Final = 2
"""Exit status where the run cannot be done here."""
PAIRS: Final = 10
_LONGEST_CALM_S: Final = 4.0
_HOSTS: Final = ("127.0.0.1", *DATABASE_HOSTS.values())


async def run_all(
    folder: Path, server: PostgresServer, valkey: Valkey, settings: Settings
) -> Report:
    """Every fault, in a network of our own, until the time is over."""
    tempo, clock = Tempo(), SystemClock()
    partition = Partition(server.port)
    await partition.prepare()
    chance = Random(settings.seed)
    async with standing(folder, server, valkey, tempo, has_hosts=True) as stand:
        pace = Pace()
        load = ClusterLoad(
            stand, clock, settings.seed, pace, settings.turn_timeout_ms, settings.tables // PAIRS
        )
        breaker = Breaker(stand, clock, chance, partition)
        faults = plan(chance, tempo.lease_ms, ALL, _LONGEST_CALM_S)
        report = await run(stand, settings, pace, say, faults, breaker.inflict, load)
        say(f"{load.quick_matches} tables were found by quick match")
        return report


def main() -> None:
    """Read the command line, run, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        enter_own_network("tests.chaos.cluster.run")
    except ToolsMissing as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNUSABLE)
    settings = Settings(given.tables, given.minutes, given.seed, 1, 15_000, "cluster")
    folder = Path(tempfile.mkdtemp(prefix="okey-chaos-"))
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        report = _run(folder, Path(home), settings)
    path = write(report, REPORTS)
    for name, findings in report.by_check().items():
        say(f"{'ok ' if not findings else 'RED'} {name}" + (f": {findings}" if findings else ""))
    say(f"the report is {path}")
    if not report.is_green:
        raise SystemExit(f"{len(report.findings)} findings; the services' logs are in {folder}")
    shutil.rmtree(folder)


def _run(folder: Path, home: Path, settings: Settings) -> Report:
    server, valkey = PostgresServer(home, hosts=_HOSTS), Valkey(folder)
    try:
        asyncio.run(Partition.loopback())
        server.start()
        valkey.start()
        return asyncio.run(run_all(folder, server, valkey, settings))
    except BaseException:
        sys.stderr.write(f"the seed was {settings.seed}; logs and tokens are in {folder}\n")
        raise
    finally:
        valkey.kill()
        server.stop("immediate")


if __name__ == "__main__":
    main()
