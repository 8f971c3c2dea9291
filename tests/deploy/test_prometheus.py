"""A real Prometheus scrapes a whole running platform: every target, every rule, every metric that a
dashboard shows; and a forced failure turns its alert on, and off again.
"""

import asyncio
import json
import os
import re
import signal
import sqlite3
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.channel import open_channel
from services.okeyctl.demo.platform import StartedPlatform
from tests.deploy.manifests import DEPLOY
from tests.deploy.prometheus import PROMETHEUS, Prometheus, scraping
from tests.deploy.test_rules import metrics_in, recorded

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(240),
    pytest.mark.skipif(
        PROMETHEUS is None,
        reason="NOT CHECKED: nothing is scraped here, prometheus is missing: as root, "
        "apt-get install prometheus",
    ),
]

OF_PROMETHEUS: Final = {"up", "ALERTS"}
"""What it adds by itself."""

FORGE: Final = "INSERT INTO accounts VALUES ('player:forger', 1000000, 0, 0, 0)"
TAKE_BACK: Final = "DELETE FROM accounts WHERE account = 'player:forger'"


@pytest.fixture(scope="module")
async def platform(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    async with StartedPlatform(tmp_path_factory.mktemp("platform")) as found:
        yield found


def targets(platform: StartedPlatform) -> dict[str, list[str]]:
    """Where metrics are, by service."""
    return {
        each.kind: [each.metrics_address]
        for each in platform.state.processes.values()
        if each.metrics_address
    }


@pytest.fixture(scope="module")
async def prometheus(
    platform: StartedPlatform, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Prometheus]:
    async with scraping(targets(platform), tmp_path_factory.mktemp("prometheus")) as found:
        await found.until_up(len(targets(platform)))
        yield found


def offered(address: str) -> set[str]:
    """Every series that a real page of metrics has, or would have with its first event."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    found = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE):
        endings = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        found |= {name + ending for ending in endings}
    return found


def as_asked(expression: str) -> str:
    """As Grafana sends it to Prometheus."""
    return expression.replace("$__rate_interval", "1m")


def shown_by(board: Path) -> set[str]:
    """The metrics that a dashboard asks for."""
    panels = json.loads(board.read_text("utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    return {metric for expression in expressions for metric in metrics_in(as_asked(expression))}


@pytest.mark.parametrize(
    "board", sorted((DEPLOY / "dashboards").glob("*.json")), ids=lambda p: p.stem
)
async def test_what_a_dashboard_shows_is_on_real_pages(
    board: Path, platform: StartedPlatform
) -> None:
    shown = shown_by(board)
    pages = [await asyncio.to_thread(offered, one[0]) for one in targets(platform).values()]

    assert shown
    assert shown - set().union(*pages) - recorded() - OF_PROMETHEUS == set()


async def test_every_rule_can_be_evaluated(prometheus: Prometheus) -> None:
    assert await prometheus.broken_rules() == []


async def test_an_unbalanced_ledger_turns_an_alert_on_and_off_again(
    platform: StartedPlatform, prometheus: Prometheus
) -> None:
    """Somebody writes to the database past the wallet."""
    await audit(platform)
    await prometheus.until_quiet("OkeyAuditFinding")
    with unguarded(platform.data_dir / "wallet.db", "accounts_open_empty") as database:
        database.execute(FORGE)
    await audit(platform)
    await prometheus.until_firing("OkeyAuditFinding")

    with unguarded(platform.data_dir / "wallet.db", "accounts_stay") as database:
        database.execute(TAKE_BACK)
    await audit(platform)
    await prometheus.until_quiet("OkeyAuditFinding")


async def test_a_redis_that_hangs_turns_an_alert_on_and_off_again(
    platform: StartedPlatform, prometheus: Prometheus
) -> None:
    pid = platform.state.processes["valkey"].pid
    await prometheus.until_quiet("OkeyLobbyListOld")
    os.kill(pid, signal.SIGSTOP)
    try:
        await prometheus.until_firing("OkeyLobbyListOld")
    finally:
        os.kill(pid, signal.SIGCONT)
    await prometheus.until_quiet("OkeyLobbyListOld")


async def audit(platform: StartedPlatform) -> None:
    """The whole ledger, now."""
    way = platform.operator("wallet")
    async with open_channel(way.address, token=way.token) as channel:
        stub = wallet_pb2_grpc.WalletServiceStub(channel)
        async for _ in stub.AuditLedger(wallet_pb2.AuditLedgerRequest()):
            pass


@contextmanager
def unguarded(file: Path, guard: str) -> Iterator[sqlite3.Connection]:
    """The ledger's database without one of the triggers that guard it."""
    with closing(sqlite3.connect(file, timeout=30, isolation_level=None)) as database:
        [[trigger]] = database.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (guard,)
        ).fetchall()
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"DROP TRIGGER {guard}")
        yield database
        database.execute(trigger)
        database.execute("COMMIT")
