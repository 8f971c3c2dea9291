"""What Prometheus reads of the gateway beside its loop's lag."""

from typing import Final

from prometheus_client import Gauge

from okey_runtime.metrics import LATENCY_BUCKETS_S, counter, histogram

ROUTES: Final = frozenset({"rpc", "session", "static", "config.json", "health"})
"""Addresses that are counted by their first part; others are a "page" or "other"."""
_ALL_ROUTES: Final = (*sorted(ROUTES), "page", "other")
_STATUSES: Final = (
    *("200", "204", "304", "400", "401", "403", "404", "405", "409", "413", "429"),
    *("499", "500", "501", "503", "504"),
)
"""What the gateway answers with; any other is added once it comes."""

CONNECTIONS: Final = Gauge("okey_gateway_connections", "Open WebSocket connections.")
FRAMES: Final = counter(
    "okey_gateway_frames_total",
    "WebSocket frames, by direction: up or down.",
    {"direction": ("up", "down")},
)
ENDS: Final = counter(
    "okey_gateway_ends_total",
    "Connections that the gateway has ended, by reason; those whose client went are not counted.",
    {
        "reason": (
            *("HELLO_EXPECTED", "SLOW_READER", "GATEWAY_STOPPING", "CONNECTIONS_EXHAUSTED"),
            *("TOO_MANY_BAD_TOKENS", "TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED"),
            *("TOKEN_REVOKED", "SESSION_REPLACED", "ROLE_REFUSED"),
        )
    },
)
DROPPED: Final = counter(
    "okey_gateway_dropped_total",
    "Connections dropped at the port before or beside the app, by reason.",
    {
        "reason": (
            *("CROWDED", "REQUEST_LATE", "REQUEST_TOO_LONG", "PIPELINED", "NO_HTTP"),
            *("HELLO", "UNREAD", "FRAMES", "WAIT"),
        )
    },
)
COMMAND_SECONDS: Final = histogram(
    "okey_gateway_command_seconds",
    "From a command's frame to its answer's, by what became of it: accepted or refused.",
    {"outcome": ("accepted", "refused")},
    LATENCY_BUCKETS_S,
)
REQUESTS: Final = counter(
    "okey_gateway_requests_total",
    "HTTP requests, by route and status.",
    {"route": _ALL_ROUTES, "status": _STATUSES},
)
REQUEST_SECONDS: Final = histogram(
    "okey_gateway_request_seconds",
    "How long HTTP requests take, by route.",
    {"route": _ALL_ROUTES},
    LATENCY_BUCKETS_S,
)
