"""What callers may cost the edge: Envoy's guide for edge proxies, fitted to our pods and calls.

docs/security.md ("At the edge") tells of each option why it has its value.
"""

from dataclasses import dataclass
from typing import Final

from tools.manifests.envoy_parts import TYPE, Json, extension, typed

MEBIBYTE: Final = 1 << 20
CONNECTION_BUFFER: Final = 32 << 10
STREAM_WINDOW: Final = 64 << 10
CONNECTION_WINDOW: Final = MEBIBYTE
SERVICE_WINDOW: Final = 4_096 * STREAM_WINDOW
"""To a service: as many streams as it takes on a connection, each with a full window. With less, a
few callers that do not read would hold up everybody whose calls share the connection.
"""
RUNTIME: Final[Json] = {
    # Rapid reset: a connection ends once half of its streams were reset within a second, from
    # 200 streams on.
    "overload.premature_reset_total_stream_count": 200,
    "overload.premature_reset_min_stream_lifetime_seconds": 1,
    # One connection's requests give way to other connections' after a number of them.
    "http.max_requests_per_io_cycle": 10,
}
_HEAP: Final = "envoy.resource_monitors.fixed_heap"
_CONNECTIONS: Final = "envoy.resource_monitors.global_downstream_max_connections"
_REMEMBERED_ADDRESSES: Final = 10_000
_CROWDS: Final = 8
_A_CROWD: Final = 5
"""How many times as much as one address the addresses of a crowd may call."""
_TELEMETRY_CONNECTIONS: Final = 32


@dataclass(frozen=True)
class Limits:
    """The limits of one Envoy that an environment may set, and those that tests shorten.

    Sizes in bytes, times in seconds. ``calls_per_s`` and ``calls_burst`` hold for one address (of
    IPv6: one /64); a crowd together may call 5 times as much. A crowd is one of the eight that
    addresses fall into by their hash, and has its share of the connections.
    """

    connections: int = 4_000
    connections_per_crowd: int = 500
    streams_per_connection: int = 100
    heap_bytes: int = 400 * MEBIBYTE
    calls_per_s: int = 500
    calls_burst: int = 1_000
    request_bytes: int = 16 << 10
    headers_kib: int = 12
    headers: int = 64
    handshake_s: float = 10
    headers_s: float = 10
    idle_connection_s: float = 60
    unary_s: float = 65
    idle_stream_s: float = 3_600
    unread_s: float = 30


DEFAULTS: Final = Limits()
"""What holds where an environment sets nothing else."""


def seconds(value: float) -> str:
    """A duration as Envoy writes it."""
    return f"{value:g}s"


def overload(limits: Limits) -> Json:
    """Fewer connections and streams the fuller the heap is, so that the container's limit is never
    reached.
    """
    heap = extension(
        _HEAP,
        "resource_monitors.fixed_heap.v3.FixedHeapConfig",
        {"max_heap_size_bytes": limits.heap_bytes},
    )
    connections = extension(
        _CONNECTIONS,
        "resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        {"max_active_downstream_connections": limits.connections},
    )
    return {
        "refresh_interval": "0.250s",
        "resource_monitors": [heap, connections],
        # From 64 KiB on, the streams that hold most are known, and are reset first.
        "buffer_factory_config": {"minimum_account_to_track_power_of_two": 16},
        "actions": [
            _action("shrink_heap", {"threshold": {"value": 0.85}}),
            _action("disable_http_keepalive", {"threshold": {"value": 0.90}}),
            _action("reset_high_memory_stream", _scaled(0.85, 0.95)),
            _action("stop_accepting_requests", {"threshold": {"value": 0.95}}),
            # Hung up on, and not left waiting in the kernel: another Envoy may have room.
            _action("reject_incoming_connections", {"threshold": {"value": 0.97}}),
        ],
        "loadshed_points": [
            {
                "name": "envoy.load_shed_points.http2_server_go_away_on_dispatch",
                "triggers": [{"name": _HEAP, "threshold": {"value": 0.98}}],
            }
        ],
    }


def _action(name: str, trigger: Json) -> Json:
    return {"name": f"envoy.overload_actions.{name}", "triggers": [{"name": _HEAP, **trigger}]}


def _scaled(begins: float, full: float) -> Json:
    return {"scaled": {"scaling_threshold": begins, "saturation_threshold": full}}


def telemetry_connections() -> Json:
    """A filter that bounds the connections to metrics and readiness, which the limit of callers'
    connections leaves out.
    """
    return _most_connections("telemetry", _TELEMETRY_CONNECTIONS)


def crowds(limits: Limits, chain: Json) -> Json:
    """The chain of filters once for each crowd of addresses, behind a limit of the crowd's
    connections, and what chooses by the caller's address: Envoy has no limit for one address.
    """
    filters = chain["filters"]
    assert isinstance(filters, list), "a chain has filters"
    most = _most_connections("crowd", limits.connections_per_crowd)
    return {
        "filter_chain_matcher": {
            "matcher_list": {"matchers": [_at_least(crowd) for crowd in range(_CROWDS - 1, 0, -1)]},
            "on_no_match": _chosen(0),
        },
        "filter_chains": [
            {"name": _name(crowd), **chain, "filters": [most, *filters]} for crowd in range(_CROWDS)
        ],
    }


def _at_least(crowd: int) -> Json:
    """That one, where the address's hash is in it or in a later one."""
    address = "matching.common_inputs.network.v3.SourceIPInput"
    hashed = typed(
        "matching.input_matchers.consistent_hashing.v3.ConsistentHashing",
        {"threshold": crowd, "modulo": _CROWDS},
    )
    predicate = {
        "input": {"name": "address", "typed_config": typed(address, {})},
        "custom_match": {"name": "hash", "typed_config": hashed},
    }
    return {"predicate": {"single_predicate": predicate}, "on_match": _chosen(crowd)}


def _chosen(crowd: int) -> Json:
    value = {TYPE: "type.googleapis.com/google.protobuf.StringValue", "value": _name(crowd)}
    return {"action": {"name": "crowd", "typed_config": value}}


def _name(crowd: int) -> str:
    return f"crowd-{crowd}"


def _most_connections(name: str, most: int) -> Json:
    return extension(
        "envoy.filters.network.connection_limit",
        "filters.network.connection_limit.v3.ConnectionLimit",
        {"stat_prefix": name, "max_connections": most},
    )


def local_rate_limit(limits: Limits) -> Json:
    """A filter with a bucket of calls for each address, and one for a crowd together."""
    action = {"masked_remote_address": {"v4_prefix_mask_len": 32, "v6_prefix_mask_len": 64}}
    each_address = {
        # Without a value each one has a bucket of its own.
        "entries": [{"key": "masked_remote_address"}],
        "token_bucket": _bucket(limits.calls_per_s, limits.calls_burst),
    }
    always = {"default_value": {"numerator": 100}}
    return extension(
        "envoy.filters.http.local_ratelimit",
        "filters.http.local_ratelimit.v3.LocalRateLimit",
        {
            "stat_prefix": "edge",
            "token_bucket": _bucket(limits.calls_per_s * _A_CROWD, limits.calls_burst * _A_CROWD),
            "filter_enabled": always,
            "filter_enforced": always,
            "rate_limits": [{"actions": [action]}],
            "descriptors": [each_address],
            "max_dynamic_descriptors": _REMEMBERED_ADDRESSES,
            "rate_limited_as_resource_exhausted": True,
        },
    )


def _bucket(per_s: int, burst: int) -> Json:
    return {"max_tokens": burst, "tokens_per_fill": per_s, "fill_interval": "1s"}


def largest_request(limits: Limits) -> Json:
    """A filter that takes in a request whole, up to this size, before a service hears of it."""
    return extension(
        "envoy.filters.http.buffer",
        "filters.http.buffer.v3.Buffer",
        {"max_request_bytes": limits.request_bytes},
    )
