"""What people notice of a roll-out, and of an engine that dies with very many tables."""

from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import pytest

from okey_runtime.clock import SystemClock
from tests.chaos.cluster.faults import DRAINED, UPGRADED, Breaker
from tests.chaos.cluster.load import ClusterLoad
from tests.chaos.cluster.stand import ENGINES, SMALL, Tempo, standing
from tests.chaos.cluster.takeover import VICTIM, kill_and_go_on, move_everything_to, open_tables
from tests.chaos.tables.faults import Fault
from tests.chaos.tables.history import Asked
from tests.chaos.tables.report import Settings
from tests.chaos.tables.run import run, say
from tests.chaos.tables.script import Pace
from tests.chaos.tables.test_tables import require_green
from tests.fixtures.postgres import PostgresServer
from tests.fixtures.valkey import Valkey

MOST_TRIES: Final = 3
WITHIN_MS: Final = 2_000
LIVE_TABLES: Final = 1_000
BEYOND_THE_LEASE_MS: Final = 3_000
NEWEST: Final = "MatchVoided"

pytestmark = [pytest.mark.long, pytest.mark.system]


def slow(asked: list[Asked]) -> list[str]:
    """The commands that took too many tries, or too long, and why."""
    return [
        f"{each.kind} took {each.answered_ms - each.sent_ms} ms, after {each.errors}"
        for each in asked
        if len(each.errors) >= MOST_TRIES or each.answered_ms - each.sent_ms > WITHIN_MS
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kind", "off"), [(DRAINED, ""), (UPGRADED, NEWEST)])
async def test_a_roll_out_fails_no_command(
    kind: str, off: str, tmp_path: Path, postgres_server: PostgresServer, valkey: Valkey
) -> None:
    """Every engine is restarted in turn under load, also from a version that knows less: each
    command counts once, after three tries at most, within two seconds.
    """
    settings = Settings(60, 10.0, 6, 1, 30_000, "cluster")
    tempo, clock = Tempo(events_off=off), SystemClock()
    faults = [Fault(engine, kind, 0.0, 4.0) for engine in ENGINES]
    async with standing(tmp_path, postgres_server, valkey, tempo, SMALL) as stand:
        load = ClusterLoad(stand, clock, settings.seed, Pace(0.5), settings.turn_timeout_ms, 2)
        breaker = Breaker(stand, clock, Random(settings.seed))
        report = await run(stand, settings, Pace(0.5), say, iter(faults), breaker.inflict, load)
    require_green(report, "commands acknowledged", "take-overs", "matches ended")
    assert slow([asked for client in load.clients for asked in client.asked]) == []


@pytest.mark.timeout(900)
async def test_every_table_of_a_killed_engine_goes_on(
    tmp_path: Path, postgres_server: PostgresServer, valkey: Valkey
) -> None:
    """1,000 live tables: each accepts its next legal command within the lease and three seconds."""
    tempo = Tempo(bot_pace_ms=300)
    async with standing(tmp_path, postgres_server, valkey, tempo, SMALL) as stand:
        await move_everything_to(stand, VICTIM)
        waiting = await open_tables(stand, LIVE_TABLES)
        again = await kill_and_go_on(stand, waiting)
    times = sorted(each.after_ms for each in again)
    told = f"first {times[0]} ms, median {median(times):.0f} ms, last {times[-1]} ms after the kill"
    say(f"{len(times)} tables: {told}")
    assert len(times) == LIVE_TABLES
    assert times[-1] <= tempo.lease_ms + BEYOND_THE_LEASE_MS
