"""What all tests share: repeatable Hypothesis profiles, what runs under coverage, where logs go,
and that Ctrl-C reaches what they start.
"""

import logging
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from okey_runtime.line_quota import LINES
from tests.fixtures.migrated import replay_migrations
from tests.streams import Dropped

settings.register_profile(
    "quick",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("quick"), max_examples=2_000)
settings.load_profile("quick")

_UNIT = Path(__file__).parent / "unit"
_OWN_COMMANDS = [Path(__file__).parent / name for name in ("attack", "deploy", "docs", "e2e")]
"""Folders whose tests a command of their own runs: test-system, deploy-check, docs-check."""
_CORE = [
    _UNIT / name for name in ("rules", "table", "money", "rating", "bots", "simulation", "arena")
]


def pytest_configure() -> None:
    """Let SIGINT through to the programs that tests start: what a script starts in the background
    ignores it, and hands that on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    replay_migrations()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the unit tests of `libs/okey` that `make test` runs under coverage, and those that it
    leaves to other commands.

    The deep ones try so many examples that tracing each line would cost minutes, and cover nothing
    that the others do not.
    """
    for item in items:
        if any(folder in item.path.parents for folder in _OWN_COMMANDS):
            item.add_marker("system")
        is_core = any(folder in item.path.parents for folder in _CORE)
        if is_core and item.get_closest_marker("deep") is None:
            item.add_marker("core")


_DROPPED = Dropped()
logging.getLogger("asyncio").addHandler(_DROPPED)


@pytest.fixture(autouse=True)
def no_stream_is_dropped() -> Iterator[None]:
    """No stream was left to the collector by this test or one before it."""
    yield
    assert _DROPPED.take() == []


def pytest_runtest_setup() -> None:
    """Keep logs off standard output: services run in the test's own process, beside commands whose
    output is looked at. No line is left out for one of an earlier test. Exceptions are written as
    Python does it: with the values of each frame they cost more than many a test.
    """
    LINES.clear()
    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.format_exc_info,
                structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
            ],
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        )
