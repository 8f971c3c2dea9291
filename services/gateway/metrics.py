"""What Prometheus reads of the gateway beside its loop's lag."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from okey_runtime.metrics import LATENCY_BUCKETS_S

CONNECTIONS: Final = Gauge("okey_gateway_connections", "Open WebSocket connections.")
FRAMES: Final = Counter(
    "okey_gateway_frames_total", "WebSocket frames, by direction: up or down.", ("direction",)
)
ENDS: Final = Counter(
    "okey_gateway_ends_total",
    "Connections that the gateway has ended, by reason; those whose client went are not counted.",
    ("reason",),
)
DROPPED: Final = Counter(
    "okey_gateway_dropped_total",
    "Connections dropped at the port before or beside the app, by reason.",
    ("reason",),
)
COMMAND_SECONDS: Final = Histogram(
    "okey_gateway_command_seconds",
    "From a command's frame to its answer's, by what became of it: accepted or refused.",
    ("outcome",),
    buckets=LATENCY_BUCKETS_S,
)
REQUESTS: Final = Counter(
    "okey_gateway_requests_total", "HTTP requests, by route and status.", ("route", "status")
)
REQUEST_SECONDS: Final = Histogram(
    "okey_gateway_request_seconds",
    "How long HTTP requests take, by route.",
    ("route",),
    buckets=LATENCY_BUCKETS_S,
)
