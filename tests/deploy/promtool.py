"""Whether alerts fire on given series, as Prometheus itself (promtool's unit tests) says."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

PROMTOOL: Final = shutil.which("promtool")
"""None on a machine without it; Debian's package is `prometheus`."""

_TIMEOUT_S: Final = 300


@dataclass(frozen=True)
class Case:
    """Series from minute 0 on, in promtool's notation, and whether the alert then fires."""

    alert: str
    series: Mapping[str, str]
    at: str
    fires: bool
    every: str = "1m"
    """How far samples are apart."""
    namespaces: Mapping[str, bool] = field(default_factory=dict)
    """Where there is more than one: in which of them it fires, told by the alert's label."""


def check(rules: Path) -> str:
    """What promtool finds wrong with a file of rules; empty if nothing."""
    found = _promtool("check", "rules", "--lint-fatal", str(rules))
    return "" if found.returncode == 0 else found.stdout + found.stderr


def unexpected(rules: Path, cases: Sequence[Case], folder: Path) -> str:
    """What promtool says of cases that came out otherwise; empty if none did."""
    said = ""
    groups = [group["name"] for group in yaml.safe_load(rules.read_text("utf-8"))["groups"]]
    for every in sorted({case.every for case in cases}):
        file = folder / f"every-{every}.yaml"
        content = {
            "rule_files": [str(rules)],
            "evaluation_interval": every,
            # By default in any order; then an alert sees what was recorded the time before, which
            # is too long ago where samples are far apart.
            "group_eval_order": groups,
            "tests": [_test(case) for case in cases if case.every == every],
        }
        file.write_text(yaml.safe_dump(content))
        found = _promtool("test", "rules", str(file))
        said += "" if found.returncode == 0 else found.stdout + found.stderr
    return said


def _test(case: Case) -> dict[str, object]:
    alerts = f'ALERTS{{alertname="{case.alert}", alertstate="firing"}}'
    if case.namespaces:
        firing = f"group by (namespace) ({alerts})"
        labels = [f'{{namespace="{name}"}}' for name, fires in case.namespaces.items() if fires]
    else:
        firing, labels = f"count({alerts}) > bool 0", ["{}"] * case.fires
    return {
        "name": f"{case.alert} {'fires' if case.fires else 'is quiet'}",
        "interval": case.every,
        "input_series": [{"series": name, "values": v} for name, v in case.series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": case.at,
                "exp_samples": [{"labels": each, "value": 1} for each in labels],
            }
        ],
    }


def _promtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    assert PROMTOOL is not None, "checked by the caller"
    command = [PROMTOOL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
