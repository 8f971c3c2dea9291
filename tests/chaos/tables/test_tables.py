"""Tables with bots and clients that check everything they see, while engine and database die."""

from pathlib import Path

import pytest

from tests.chaos.tables.faults import Fault
from tests.chaos.tables.history import DATABASE, ENGINE, KILLED, PAUSED
from tests.chaos.tables.report import Report, Settings, write
from tests.chaos.tables.run import REPORTS, run, say
from tests.chaos.tables.script import Pace
from tests.chaos.tables.stand import standing
from tests.fixtures.postgres import PostgresServer


def require_green(report: Report, *seen: str) -> None:
    """Every promise was kept, and there was something to look at."""
    assert report.is_green, "\n".join(map(str, report.findings[:20]))
    empty = [name for name in seen if not report.figures[name]]
    assert not empty, f"nothing was seen of: {', '.join(empty)}"


@pytest.mark.long
@pytest.mark.timeout(240)
async def test_twenty_tables_outlive_three_faults(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """A sample of ``make chaos-tables``: gapless, moves durable, nothing hidden, clocks fair."""
    faults = [
        Fault(ENGINE, PAUSED, 1.2, 0.2),
        Fault(DATABASE, KILLED, 0.5, 0.2),
        Fault(ENGINE, KILLED, 0.0, 0.5),
    ]
    settings = Settings(20, 10.0, 3, clock_factor=3, turn_timeout_ms=30_000)
    hurried = standing(tmp_path, postgres_server, clock_factor=3, bot_pace_ms=300, stall_ms=500)
    async with hurried as stand:
        pace = Pace(factor=0.3)
        report = await run(stand, settings, pace, say, iter(faults))
    require_green(
        report,
        *("streams resumed by cursor", "commands acknowledged", "commands sent again"),
        *("take-overs", "matches ended", "settlements booked"),
    )


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_two_hundred_tables_outlive_minutes_of_faults(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """The same at size, with sleepers, stand-ins and every kind of fault; leaves a report."""
    settings = Settings(200, 3.0, 11, clock_factor=1, turn_timeout_ms=15_000)
    async with standing(tmp_path, postgres_server) as stand:
        report = await run(stand, settings, Pace(), say)
    write(report, REPORTS)
    require_green(
        report,
        *("streams resumed by cursor", "commands acknowledged", "commands sent again"),
        *("commands repeated after their answer", "commands refused", "take-overs"),
        *("time-outs", "stand-ins", "returns", "matches ended", "settlements booked"),
    )
    assert all(report.faults.values())
