"""docs/gateway.md tells every setting and every metric as they are."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase

from okey_runtime.config import ServiceSettings
from services.gateway import metrics
from services.gateway.settings import GatewaySettings

PAGE = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text("utf-8")
METRIC = re.compile(r"^\| `(okey_gateway_[a-z_]+)` \| (\w+) \| ([a-z, ]*?) ?\| ", re.MULTILINE)
SETTING = re.compile(r"^\| `OKEY_(GATEWAY_[A-Z_]+)` \| (.+?) \| ", re.MULTILINE)
LABELS = {"direction", "reason", "outcome", "route", "status"}


def test_every_metric_is_documented_with_its_type_and_labels() -> None:
    in_code = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            name = family.name + ("_total" if family.type == "counter" else "")
            in_code[name] = (family.type, ", ".join(metric._labelnames))
            assert set(metric._labelnames) <= LABELS
    assert {name: (kind, labels) for name, kind, labels in METRIC.findall(PAGE)} == in_code
    assert len(in_code) >= 6


def test_every_setting_is_documented_with_its_default() -> None:
    fields = GatewaySettings.model_fields
    own = fields.keys() - ServiceSettings.model_fields.keys()
    told = {name.lower(): default for name, default in SETTING.findall(PAGE)}
    assert told.keys() == {name for name in own if name.startswith("gateway_")}
    for name, default in told.items():
        value = fields[name].default
        expected = (
            "–" if value is None else f"`{value}`" if isinstance(value, str) else f"{value:,}"
        )
        assert default == expected, name
