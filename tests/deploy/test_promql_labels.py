"""Labels by which rules, scalers, dashboards and pages pick series exist on the metric."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import REGISTRY

from tests.deploy.test_rules import ROOT, metrics_of_ours

FROM_PROMETHEUS: Final = {"le", "job", "instance", "namespace", "pod"}
"""What histograms and scraping add to the labels of the code."""

SELECTOR: Final = re.compile(r"\b((?:okey|grpc_server)_\w+)\{([^}]*)\}")
QUOTED: Final = re.compile(r'\\?"[^"]*"')


def labels_of_ours() -> dict[str, set[str]]:
    """The labels of every series that any of our services offers."""
    known = metrics_of_ours()
    found: dict[str, set[str]] = {}
    for collector in list(REGISTRY._collector_to_names):
        for name in REGISTRY._collector_to_names[collector]:
            if name in known:
                found[name] = set(getattr(collector, "_labelnames", ()))
    return found


def foreign_labels(text: str) -> Iterator[str]:
    """What the text's selectors name that their metric does not have."""
    known = labels_of_ours()
    for metric, matchers in SELECTOR.findall(text):
        named = set(re.findall(r"\w+", QUOTED.sub("", matchers)))
        if metric in known:
            yield from sorted(f"{metric}: {one}" for one in named - known[metric] - FROM_PROMETHEUS)


def written() -> Iterator[Path]:
    """Everything that holds PromQL for people or machines."""
    yield ROOT / "README.md"
    yield from (ROOT / "docs").rglob("*.md")
    for folder in ("rules", "dashboards", "components"):
        yield from (path for path in (ROOT / "deploy" / folder).rglob("*") if path.is_file())


def test_selectors_name_labels_that_the_metric_has() -> None:
    wrong = {str(path): list(foreign_labels(path.read_text("utf-8"))) for path in written()}

    assert {path: found for path, found in wrong.items() if found} == {}


def test_a_label_that_the_metric_has_not_is_seen() -> None:
    assert list(foreign_labels('okey_engine_tables{phase="SETTLING", pod="a"}')) == [
        "okey_engine_tables: phase"
    ]
    assert labels_of_ours()["okey_engine_command_seconds_bucket"] == set()
