"""Platforms for the commands of every page, with quick clocks and bots that do not ponder; and at
the end of a run, which commands no test of a page has run, and why.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from tests.docs.elsewhere import ELSEWHERE, OKEYCTL

CLOCK_FACTOR = 10
BOT_PACE_MS = 5


@pytest.fixture(scope="session")
async def platform(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    """As `make run` starts it."""
    async with _started(StartedPlatform(tmp_path_factory.mktemp("platform"), CLOCK_FACTOR)) as it:
        yield it


@pytest.fixture(scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    """As `make cluster` starts it."""
    folder = tmp_path_factory.mktemp("cluster")
    async with _started(StartedPlatform(folder, CLOCK_FACTOR, is_cluster=True)) as it:
        yield it


@asynccontextmanager
async def _started(platform: StartedPlatform) -> AsyncIterator[StartedPlatform]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OKEY_BOT_PACE_MS", str(BOT_PACE_MS))
        async with platform:
            yield platform


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is documented and was not run as written, so that no exemption is silent."""
    passed = terminalreporter.getreports("passed")
    if not any("docs/test_commands.py" in report.nodeid for report in passed):
        return
    terminalreporter.section("documented, and not run as written")
    for (page, command), why in sorted(ELSEWHERE.items()):
        terminalreporter.write_line(f"{page}: {command}\n    {why}")
    for command, why in sorted(OKEYCTL.items()):
        terminalreporter.write_line(f"okeyctl {command}\n    {why}")
