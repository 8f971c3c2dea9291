"""The alert rules that Prometheus loads: well formed, about metrics that exist, with a runbook."""

import importlib
import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import REGISTRY

from tools.manifests.alerts import PAGES

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "rules"
SEVERITIES = {"critical", "warning"}
OF_KUBERNETES = {"kube_job_failed", "kube_job_status_failed", "kube_job_status_succeeded"}
"""From kube-state-metrics, which runs beside the Prometheus operator (docs/deploy.md)."""
OF_ENVOY = {
    "envoy_cluster_membership_healthy",
    "envoy_cluster_upstream_rq_completed",
    "envoy_cluster_upstream_rq_retry_limit_exceeded",
    "envoy_cluster_upstream_rq_xx",
    "envoy_listener_downstream_global_cx_overflow",
    "envoy_overload_envoy_overload_actions_reset_high_memory_stream_active",
    "envoy_server_days_until_first_cert_expiring",
    "envoy_server_live",
}
"""Held against a real one's page by test_envoy.py."""


def rules_of(path: Path) -> list[dict[str, Any]]:
    groups = yaml.safe_load(path.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def metrics_of_ours() -> set[str]:
    """Every series that any of our services offers."""
    for module in ("metrics", "limits", "tls"):
        importlib.import_module(f"okey_runtime.{module}")
    for path in sorted((ROOT / "services").glob("*/metrics.py")):
        importlib.import_module(f"services.{path.parent.name}.metrics")
    found = set()
    for family in REGISTRY.collect():
        endings = ("", "_total") if family.type == "counter" else ("", "_bucket", "_count", "_sum")
        found |= {family.name + ending for ending in endings}
    return found


def metrics_in(expression: str) -> set[str]:
    """The metrics that a PromQL expression selects."""
    found: set[str] = set()

    def look(part: promql_parser.Expr) -> bool:
        if isinstance(part, promql_parser.VectorSelector) and part.name is not None:
            found.add(part.name)
        return True

    promql_parser.walk(promql_parser.parse(expression), look)
    return found


def recorded() -> set[str]:
    """What our own rules record."""
    rules = (rule for path in RULES.glob("*.yaml") for rule in rules_of(path))
    return {rule["record"] for rule in rules if "record" in rule}


@pytest.mark.parametrize("path", sorted(RULES.glob("*.yaml")), ids=lambda path: path.name)
def test_rules_are_about_metrics_that_exist(path: Path) -> None:
    known = metrics_of_ours() | recorded() | OF_ENVOY | OF_KUBERNETES
    for rule in rules_of(path):
        named, name = metrics_in(rule["expr"]), rule.get("alert") or rule["record"]
        assert named or rule["expr"].startswith("vector("), f"{name} is about no metric of ours"
        assert named <= known, f"{name} names {named - known}"


@pytest.mark.parametrize("path", sorted(RULES.glob("*.yaml")), ids=lambda path: path.name)
def test_alerts_say_how_bad_it_is_and_name_a_runbook_about_them(path: Path) -> None:
    for rule in rules_of(path):
        if "alert" in rule:
            runbook = ROOT / rule["annotations"]["runbook_url"]
            assert rule["labels"]["severity"] in SEVERITIES
            assert rule["annotations"]["summary"]
            assert rule["alert"] in runbook.read_text("utf-8"), f"{runbook.name} is not about it"


def test_links_of_the_operators_rules_are_addresses_of_pages_that_there_are() -> None:
    rules = yaml.safe_load_all((ROOT / "deploy/components/monitoring/rules.yaml").read_text())
    links = [
        rule["annotations"]["runbook_url"]
        for one in rules
        for group in one["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]

    assert links
    assert [link for link in links if not link.startswith(PAGES)] == []
    assert [link for link in links if not (ROOT / link.removeprefix(PAGES)).is_file()] == []


def test_failures_of_the_objectives_are_codes_that_there_are() -> None:
    written = "".join(
        path.read_text("utf-8")
        for folder in ("services/engine", "libs/okey_runtime")
        for path in (ROOT / folder).glob("*.py")
    )
    for rule in rules_of(RULES / "slo.yaml"):
        for codes in re.findall(r'[^_]code=~"([A-Z_|]+)"', rule["expr"]):
            assert {one for one in codes.split("|") if f'"{one}"' not in written} == set()


def test_a_rule_about_an_unknown_metric_is_seen() -> None:
    assert metrics_in('sum by (sink) (rate(okey_engine_gone_total{a="okey_x"}[5m])) > 1') == {
        "okey_engine_gone_total"
    }
    assert "okey_engine_gone_total" not in metrics_of_ours()


def test_an_alert_watches_whether_the_engine_stands_still_now() -> None:
    """It stays ready, so no probe tells; what is counted when it is over comes too late."""
    watching = [
        rule["alert"]
        for rule in rules_of(RULES / "engine.yaml")
        if "okey_engine_standing_still_seconds" in metrics_in(rule["expr"])
    ]
    assert watching == ["OkeyEngineStandsStill"]


def test_an_alert_watches_how_long_the_outbox_has_waited() -> None:
    """A stuck relay is a metric and an alert, never silence."""
    watching = [
        rule["alert"]
        for rule in rules_of(RULES / "relay.yaml")
        if "okey_engine_relay_oldest_waiting_seconds" in metrics_in(rule["expr"])
    ]
    assert watching == ["OkeyRelayStuck", "OkeyEngineNotScraped"]
