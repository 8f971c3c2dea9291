"""The rule files of deploy/rules as objects of the Prometheus operator."""

from collections.abc import Sequence
from pathlib import Path

import yaml


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
            "spec": yaml.safe_load(file.read_text("utf-8")),
        }
        for file in files
    ]
