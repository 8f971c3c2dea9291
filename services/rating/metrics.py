"""What Prometheus reads of the rating service beside calls and latencies."""

from typing import Final

from okey_runtime.metrics import counter

RECORDED: Final = counter(
    "okey_rating_reports_total",
    "Reports that were answered, the repeated ones too.",
    {"kind": ("match", "unrated match", "forfeit")},
)
