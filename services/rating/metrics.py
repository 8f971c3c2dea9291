"""What Prometheus reads of the rating service beside calls and latencies."""

from typing import Final

from prometheus_client import Counter

RECORDED: Final = Counter(
    "okey_rating_reports_total",
    "Reports that were answered, the repeated ones too.",
    ["kind"],
)
