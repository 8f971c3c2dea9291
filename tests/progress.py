"""Says every ten seconds how far the tests are and which one runs, and at once which one has
failed, for `make test` and its logs.
"""

import sys
from time import monotonic
from typing import Any

import pytest

EVERY_S = 10.0


class Progress:
    """Counts what has ended, and remembers what began last on each worker."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self._began_s = self._said_s = monotonic()
        self._all = self._ended = self._failed = 0
        self._running: dict[str, None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers the tests are known here."""
        self._all = max(self._all, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """Every worker collects the same tests."""
        del node
        self._all = len(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._running[nodeid] = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test has ended."""
        if report.failed:
            self._failed += 1
            self._write(f" {report.nodeid} has failed ({report.when})\n")
        if report.when != "teardown":
            return
        self._running.pop(report.nodeid, None)
        self._ended += 1
        if monotonic() - self._said_s >= EVERY_S:
            self._say()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No dot for what has passed: the lines tell more."""
        is_dot = report.when == "call" and report.passed and not hasattr(report, "wasxfail")
        return ("passed", "", "PASSED") if is_dot else None

    def _say(self) -> None:
        self._said_s = monotonic()
        share = self._ended / max(1, self._all)
        self._write(
            f"{share:4.0%}  {self._ended:,} of {self._all:,} tests, {self._failed} failed, "
            f"{self._said_s - self._began_s:.0f} s; now {', '.join(self._running)}\n"
        )


def pytest_configure(config: pytest.Config) -> None:
    """In the process that reports, not in its workers."""
    if not hasattr(config, "workerinput"):
        out = sys.__stderr__ or sys.stderr
        config.pluginmanager.register(Progress(out.write), "okey-progress")
