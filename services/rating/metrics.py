"""What Prometheus reads of the rating service beside calls and latencies."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from okey.rating.standing import Ladder
from okey_runtime.metrics import counter

RECORDED: Final = counter(
    "okey_rating_reports_total",
    "Reports that were answered, the repeated ones too.",
    {"kind": ("match", "unrated match", "forfeit")},
)
BOARD_READS: Final = Counter(
    "okey_rating_board_reads_total",
    "Ranks and pages of the running season, by where the answer came from and why there.",
    ["source", "why"],
)
for _place in (
    *(("database", why) for why in ("named season", "no redis", "stale")),
    ("redis", "current"),
):
    BOARD_READS.labels(*_place)
BOARD_REBUILDS: Final = counter(
    "okey_rating_board_rebuilds_total",
    "Copies of a board that were made anew in Redis.",
    {"ladder": [ladder.name for ladder in Ladder]},
)
BOARD_REBUILD_SECONDS: Final = Histogram(
    "okey_rating_board_rebuild_seconds",
    "How long making a copy of a board in Redis takes.",
    buckets=(0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0),
)
BOARD_CACHE_UP: Final = Gauge(
    "okey_rating_board_cache_up",
    "1 while boards are read from Redis, 0 while the database answers alone.",
)
