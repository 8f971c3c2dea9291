"""Every counter that alerts and dashboards read is there before it first counts."""

import subprocess
import sys
from typing import Final, get_args

import pytest

from services.engine.metrics import CALLS
from services.engine.wallet_sink import WalletCall
from tests.deploy.births import read_by_people, unborn
from tests.deploy.manifests import ROOT

PAGE: Final = """\
# TYPE okey_failures_total counter
okey_failures_total{kind="a",code="OK"} 0.0
okey_failures_total{kind="a",code="ERROR"} 0.0
okey_failures_total{kind="b",code="OK"} 0.0
# TYPE okey_seen_total counter
# TYPE okey_waiting gauge
# TYPE grpc_server_handled_total counter
grpc_server_handled_total{grpc_service="okey.api.bots.v1.B",grpc_code="OK"} 0.0
"""


@pytest.mark.parametrize(
    ("expression", "missing"),
    [
        ('rate(okey_failures_total{code="OK"}[5m]) > 0', []),
        (
            'rate(okey_failures_total{code="ERROR"}[5m]) > 0',
            ["okey_failures_total{'kind': 'b', 'code': 'ERROR'}"],
        ),
        (
            'increase(okey_failures_total{kind=~"a|c", code!="OK", job="x"}[5m])',
            [f"okey_failures_total{{'kind': 'c', 'code': '{code}'}}" for code in ("ERROR", "OK")],
        ),
        ("sum(rate(okey_seen_total[5m]))", ["okey_seen_total: no series at all"]),
        ("okey_waiting > 0", []),
        (
            'rate(grpc_server_handled_total{grpc_service=~"okey.api.bots.*", grpc_code!="OK"}[5m])',
            ['grpc_server_handled_total: only grpc_code="OK"'],
        ),
        ('rate(grpc_server_handled_total{grpc_service="okey.api.wallet.v1.W"}[5m])', []),
    ],
)
def test_a_series_that_is_not_there_is_seen(expression: str, missing: list[str]) -> None:
    assert unborn("bots", PAGE, [expression]) == missing


def test_the_gateways_counters_are_there_from_the_start() -> None:
    """Those of the services that serve gRPC are looked at where they are started: test_start.py."""
    show = "print(prometheus_client.generate_latest().decode())"
    fresh = subprocess.run(
        [sys.executable, "-c", f"import prometheus_client, services.gateway.app; {show}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "okey_gateway_ends_total" in fresh.stdout
    assert unborn("gateway", fresh.stdout, read_by_people()) == []


def test_the_calls_of_the_relay_are_all_there_are() -> None:
    asked = {call.__name__.removesuffix("Request") for call in get_args(WalletCall)}
    assert set(CALLS["wallet"]) == asked
