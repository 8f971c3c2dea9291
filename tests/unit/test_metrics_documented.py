"""Every service's page tells its metrics as its module makes them; names and labels keep the
convention.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client.metrics import MetricWrapperBase

from services.bots import metrics as bots
from services.engine import metrics as engine
from services.gateway import metrics as gateway
from services.lobby import metrics as lobby
from services.rating import metrics as rating
from services.wallet import metrics as wallet

ROOT = Path(__file__).parents[2]
MODULES = {
    "bots": bots,
    "engine": engine,
    "gateway": gateway,
    "lobby": lobby,
    "rating": rating,
    "wallet": wallet,
}
LABELS = {
    "bots": {"level", "code"},
    "engine": {
        *("variant", "mode", "state", "kind", "code", "type", "reason", "outcome", "sink", "call")
    },
    "gateway": {"direction", "reason", "outcome", "route", "status"},
    "lobby": {"variant", "mode", "seats", "kind", "code", "reason", "outcome"},
    "rating": {"kind", "source", "why", "ladder"},
    "wallet": {"kind", "account"},
}
"""What a series may be told apart by: all of them have few and closed values, none is an id."""
UNITS = ("_seconds", "_rows")

Described = dict[str, tuple[str, tuple[str, ...]]]
"""By name: the type and the labels."""


def page(service: str) -> str:
    return (ROOT / "docs" / f"{service}.md").read_text("utf-8")


def metrics_of(module: ModuleType) -> Iterator[MetricWrapperBase]:
    for each in vars(module).values():
        if isinstance(each, MetricWrapperBase):
            yield each


def in_code(service: str) -> Described:
    found: Described = {}
    for metric in metrics_of(MODULES[service]):
        (family,) = metric.describe()
        ending = "_total" if family.type == "counter" else ""
        found[family.name + ending] = (family.type, metric._labelnames)
    return found


def in_page(service: str, text: str) -> Described:
    """What the table of metrics in a service's page says."""
    row = re.compile(
        rf"^\| `(okey_{service}_[a-z_]+)` \| (\w+) \| ([a-z, ]*?) ?\| \S", re.MULTILINE
    )
    return {
        name: (kind, tuple(labels.split(", ")) if labels else ())
        for name, kind, labels in row.findall(text)
    }


def test_every_service_with_metrics_is_looked_at() -> None:
    with_metrics = {path.parent.name for path in (ROOT / "services").glob("*/metrics.py")}
    assert with_metrics == MODULES.keys() == LABELS.keys()


@pytest.mark.parametrize("service", MODULES)
def test_every_metric_is_documented_with_its_type_and_labels(service: str) -> None:
    assert in_page(service, page(service)) == in_code(service)


@pytest.mark.parametrize("service", MODULES)
def test_names_and_labels_keep_the_convention(service: str) -> None:
    """Base units, counters end in _total, labels are a closed list without ids."""
    for name, (kind, labels) in in_code(service).items():
        assert name.endswith("_total") == (kind == "counter")
        assert kind != "histogram" or name.endswith(UNITS)
        assert set(labels) <= LABELS[service], name


def test_a_metric_that_is_not_documented_and_another_label_are_seen() -> None:
    text = page("lobby")
    line = next(line for line in text.splitlines() if "okey_lobby_limited_total" in line)
    assert in_page("lobby", text.replace(line, "")) != in_code("lobby")
    assert in_page("lobby", text.replace(line, line.replace("reason", ""))) != in_code("lobby")
