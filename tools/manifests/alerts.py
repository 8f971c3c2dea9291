"""The rule files of deploy/rules as objects of the Prometheus operator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

PAGES: Final = "https://pages.example.com/okey/"
"""Where an environment publishes this repository's docs/, for the links of its alerts."""


def prometheus_rules(files: Sequence[Path]) -> list[dict[str, object]]:
    """One PrometheusRule a file."""
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {
                "name": f"okey-{file.stem}",
                "labels": {"app.kubernetes.io/part-of": "okey"},
            },
            "spec": _with_links(yaml.safe_load(file.read_text("utf-8"))),
        }
        for file in files
    ]


def _with_links(rules: dict[str, Any]) -> dict[str, Any]:
    """Runbooks as addresses that one can click, not as paths of this repository."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "annotations" in rule:
                rule["annotations"]["runbook_url"] = PAGES + rule["annotations"]["runbook_url"]
    return rules
