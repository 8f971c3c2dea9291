"""Three engines that share tables outlive what happens to them, and nobody's table suffers."""

import asyncio
import sys
from pathlib import Path
from random import Random

import pytest

from okey_runtime.clock import SystemClock
from tests.chaos.cluster.faults import DRAINED, FLUSHED, VALKEY, Breaker
from tests.chaos.cluster.load import ClusterLoad
from tests.chaos.cluster.stand import SMALL, Tempo, standing
from tests.chaos.tables.faults import Fault
from tests.chaos.tables.history import DATABASE, KILLED, PAUSED, RESTARTED
from tests.chaos.tables.report import Settings
from tests.chaos.tables.run import run, say
from tests.chaos.tables.script import Pace
from tests.chaos.tables.test_tables import require_green
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey

QUICK = Tempo(clock_factor=3, bot_pace_ms=300, stall_ms=500, lease_ms=1_500, renew_ms=500)


@pytest.mark.long
@pytest.mark.timeout(240)
async def test_a_few_tables_outlive_a_fault_of_each_kind(
    tmp_path: Path, postgres_server: PostgresServer, valkey: Valkey
) -> None:
    """A sample of ``make chaos``: nothing lost, one result a match, each timer once, all booked."""
    faults = [
        Fault("engine-1", KILLED, 1.8, 0.2),
        Fault(VALKEY, FLUSHED, 0.0, 0.1),
        Fault("engine-2", DRAINED, 0.0, 0.2),
        Fault("engine-3", PAUSED, 2.2, 0.2),
        Fault(DATABASE, RESTARTED, 0.2, 0.2),
        Fault(VALKEY, RESTARTED, 0.2, 0.1),
    ]
    settings = Settings(4, 10.0, 4, QUICK.clock_factor, 30_000, "cluster")
    async with standing(tmp_path, postgres_server, valkey, QUICK, SMALL) as stand:
        pace, clock = Pace(factor=0.3), SystemClock()
        load = ClusterLoad(stand, clock, settings.seed, pace, settings.turn_timeout_ms, 1)
        breaker = Breaker(stand, clock, Random(settings.seed))
        report = await run(stand, settings, pace, say, iter(faults), breaker.inflict, load)
    require_green(
        report,
        *("streams resumed by cursor", "commands acknowledged", "commands sent again"),
        *("take-overs", "matches ended", "settlements booked"),
    )
    assert load.quick_matches, "the lobbies found nobody a match"


@pytest.mark.long
@pytest.mark.system
@pytest.mark.timeout(1_200)
async def test_two_hundred_tables_outlive_minutes_of_every_fault() -> None:
    """The whole run, in a network of its own; needs root and the Debian packages that it names."""
    options = ("--tables", "200", "--minutes", "5", "--seed", "5")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.chaos.cluster.run", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()[-4_000:]
