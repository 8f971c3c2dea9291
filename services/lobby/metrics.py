"""What Prometheus reads of the lobby beside calls and latencies."""

from typing import Final

from prometheus_client import Counter

SEATED: Final = Counter(
    "okey_lobby_tickets_seated_total", "Quick-match tickets that became a seat."
)
DROPPED: Final = Counter(
    "okey_lobby_tickets_dropped_total",
    "Quick-match tickets whose player was refused a seat, by reason.",
    ["reason"],
)
