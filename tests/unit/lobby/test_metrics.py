"""The lobby's metrics: documented, named by Prometheus' convention, few labels."""

from services.lobby import metrics
from tests.unit.metric_docs import MetricDocs

DOCS = MetricDocs("lobby", metrics)
LABELS = {"variant", "mode", "seats", "kind", "code", "reason", "outcome"}


def test_every_metric_is_documented_with_its_type_and_labels() -> None:
    assert DOCS.described_by(DOCS.page()) == DOCS.described_by_code()


def test_a_metric_that_is_not_documented_is_seen() -> None:
    text = DOCS.page()
    line = next(line for line in text.splitlines() if "okey_lobby_limited_total" in line)
    assert DOCS.described_by(text.replace(line, "")) != DOCS.described_by_code()
    assert (
        DOCS.described_by(text.replace(line, line.replace("reason", "")))
        != DOCS.described_by_code()
    )


def test_names_and_labels_keep_the_convention() -> None:
    """Counters end in _total; labels are a closed list without ids."""
    for name, (kind, labels) in DOCS.described_by_code().items():
        assert name.endswith("_total") == (kind == "counter")
        assert set(labels) <= LABELS
