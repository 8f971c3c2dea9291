"""A service's metrics as its page documents them, and as its module makes them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from prometheus_client.metrics import MetricWrapperBase

_DOCS = Path(__file__).parents[2] / "docs"

Described = dict[str, tuple[str, tuple[str, ...]]]
"""By name: the type and the labels."""


@dataclass(frozen=True, slots=True)
class MetricDocs:
    """The page ``docs/<service>.md`` beside the module that makes the service's metrics."""

    service: str
    module: ModuleType

    def page(self) -> str:
        return (_DOCS / f"{self.service}.md").read_text("utf-8")

    def offered(self) -> Iterator[MetricWrapperBase]:
        """Every metric of the module."""
        for each in vars(self.module).values():
            if isinstance(each, MetricWrapperBase):
                yield each

    def described_by_code(self) -> Described:
        found: Described = {}
        for metric in self.offered():
            (family,) = metric.describe()
            ending = "_total" if family.type == "counter" else ""
            found[family.name + ending] = (family.type, metric._labelnames)
        return found

    def described_by(self, text: str) -> Described:
        """What the table of metrics in a page says."""
        row = re.compile(
            rf"^\| `(okey_{self.service}_[a-z_]+)` \| (\w+) \| ([a-z, ]*?) ?\| ", re.MULTILINE
        )
        return {
            name: (kind, tuple(labels.split(", ")) if labels else ())
            for name, kind, labels in row.findall(text)
        }
