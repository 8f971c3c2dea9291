"""The lobby's metrics: documented, named by Prometheus' convention, few labels."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from services.lobby import metrics

DOCS = Path(__file__).parents[3] / "docs" / "lobby.md"
ROW = re.compile(r"^\| `(okey_lobby_[a-z_]+)` \| (\w+) \| ([a-z, ]*?) ?\| ", re.MULTILINE)
LABELS = {"variant", "mode", "seats", "kind", "code", "reason", "outcome"}

Described = dict[str, tuple[str, tuple[str, ...]]]


def described_by_code() -> Described:
    found: Described = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            ending = "_total" if family.type == "counter" else ""
            found[family.name + ending] = (family.type, metric._labelnames)
    return found


def described_by(text: str) -> Described:
    return {
        name: (kind, tuple(labels.split(", ")) if labels else ())
        for name, kind, labels in ROW.findall(text)
    }


def test_every_metric_is_documented_with_its_type_and_labels() -> None:
    assert described_by(DOCS.read_text("utf-8")) == described_by_code()


def test_a_metric_that_is_not_documented_is_seen() -> None:
    text = DOCS.read_text("utf-8")
    line = next(line for line in text.splitlines() if "okey_lobby_limited_total" in line)
    assert described_by(text.replace(line, "")) != described_by_code()
    assert described_by(text.replace(line, line.replace("reason", ""))) != described_by_code()


def test_names_and_labels_keep_the_convention() -> None:
    """Counters end in _total; labels are a closed list without ids."""
    for name, (kind, labels) in described_by_code().items():
        assert name.endswith("_total") == (kind == "counter")
        assert set(labels) <= LABELS
