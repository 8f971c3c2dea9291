"""Envoy before the platform: gRPC and gRPC-Web from outside, balanced over every replica.

Only the services of ``PUBLIC`` are let through, each by its name. Unary calls are tried again at
another replica where nothing has decided them; streams are not, since they resume with a cursor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from okey.api.engine.v1 import engine_pb2
from okey.api.events.v1 import events_pb2
from okey.api.lobby.v1 import lobby_pb2
from okey.api.rating.v1 import rating_pb2
from okey.api.wallet.v1 import wallet_pb2
from okey_client.channels import ENGINE_HEADER
from okey_runtime.channel import PING_AFTER_MS, PING_WITHIN_MS
from tools.manifests.envoy_parts import Address, Json, at, extension, typed
from tools.manifests.envoy_tls import secrets, to_callers, to_service

PUBLIC: Final[Mapping[str, tuple[ServiceDescriptor, ...]]] = {
    "engine": (
        engine_pb2.DESCRIPTOR.services_by_name["TableService"],
        events_pb2.DESCRIPTOR.services_by_name["EventService"],
    ),
    "lobby": (lobby_pb2.DESCRIPTOR.services_by_name["LobbyService"],),
    "rating": (rating_pb2.DESCRIPTOR.services_by_name["RatingService"],),
    "wallet": (wallet_pb2.DESCRIPTOR.services_by_name["WalletService"],),
}
"""What gateways, players and integrators call, by who serves it; operators come from inside."""

_ADMIN_PORT: Final = 9901
_MEBIBYTE: Final = 1 << 20
_TRIES: Final = 3
# As our own clients ask: behind Envoy nobody else notices a replica that hangs.
_PING_AFTER: Final = f"{PING_AFTER_MS // 1_000}s"
_PING_WITHIN: Final = f"{PING_WITHIN_MS // 1_000}s"


@dataclass(frozen=True)
class Edge:
    """Where Envoy listens, and where it finds each of the services of ``PUBLIC``.

    ``secrets`` is the folder of the files of ``secrets()``: with it both sides speak TLS, with the
    certificate ``edge`` to callers and ``platform`` to services, which ``authorities`` has signed.
    """

    listen: Address
    telemetry: Address
    services: Mapping[str, Sequence[Address]]
    secrets: str = ""
    admin_port: int = _ADMIN_PORT


def bootstrap(edge: Edge) -> Json:
    """The whole configuration, to be written as YAML or JSON."""
    clusters = [_cluster(edge, name, edge.services[name]) for name in sorted(PUBLIC)]
    return {
        "node": {"id": "edge", "cluster": "okey-edge"},
        "admin": {"address": at(Address("127.0.0.1", edge.admin_port))},
        "static_resources": {
            "listeners": [_edge_listener(edge), _telemetry_listener(edge)],
            "clusters": [*clusters, _admin_cluster(edge)],
        },
        # Slow readers must not fill the memory; new work is refused before it is full.
        "overload_manager": _overload(),
    }


def deployed() -> dict[str, Json]:
    """The files of deploy/components/edge, by name: services are found by their headless Services,
    certificates where their Secrets are mounted.
    """
    edge = Edge(
        Address("0.0.0.0", 8443),
        Address("0.0.0.0", 7420),
        {name: [Address(name, 7400)] for name in PUBLIC},
        secrets="/etc/envoy-secrets",
    )
    made = secrets("/var/run/okey/public-tls", "/var/run/okey/tls")
    return {"envoy.yaml": bootstrap(edge), **made}


def _edge_listener(edge: Edge) -> Json:
    chain: Json = {"filters": [_connections(edge)]}
    if edge.secrets:
        chain["transport_socket"] = to_callers(edge.secrets)
    return {
        "name": "edge",
        "address": at(edge.listen),
        "per_connection_buffer_limit_bytes": _MEBIBYTE,
        "filter_chains": [chain],
    }


def _connections(edge: Edge) -> Json:
    """HTTP/2 for gRPC, HTTP/1.1 for browsers that speak gRPC-Web over it."""
    return extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        {
            "stat_prefix": "edge",
            "codec_type": "AUTO",
            "use_remote_address": True,
            "normalize_path": True,
            # Streams may be silent for minutes; whoever has gone is found by pings.
            "stream_idle_timeout": "0s",
            "request_headers_timeout": "10s",
            "common_http_protocol_options": {
                "idle_timeout": "3600s",
                "headers_with_underscores_action": "REJECT_REQUEST",
            },
            "http2_protocol_options": {
                "max_concurrent_streams": 1_000,
                "connection_keepalive": {"interval": "20s", "timeout": "10s"},
            },
            # As long as an ending process is given, so that the last calls are answered.
            "drain_timeout": "5s",
            "route_config": _routes(),
            "http_filters": [
                extension("envoy.filters.http.grpc_web", "filters.http.grpc_web.v3.GrpcWeb"),
                extension("envoy.filters.http.cors", "filters.http.cors.v3.Cors"),
                extension("envoy.filters.http.router", "filters.http.router.v3.Router"),
            ],
        },
    )


def _routes() -> Json:
    host: Json = {
        "name": "platform",
        "domains": ["*"],
        "routes": [route for name in sorted(PUBLIC) for route in _routes_to(name)],
        "typed_per_filter_config": {"envoy.filters.http.cors": _cors()},
    }
    return {"name": "edge", "virtual_hosts": [host]}


def _cors() -> Json:
    """Any page may call: who calls is said by a token that a script has, never by a cookie."""
    sent = ("authorization", "grpc-timeout", ENGINE_HEADER, "traceparent", "content-type")
    return typed(
        "filters.http.cors.v3.CorsPolicy",
        {
            "allow_origin_string_match": [{"safe_regex": {"regex": ".*"}}],
            "allow_methods": "POST, OPTIONS",
            "allow_headers": ", ".join((*sent, "x-grpc-web", "x-user-agent")),
            "expose_headers": "grpc-status, grpc-message, grpc-status-details-bin",
            "max_age": "86400",
        },
    )


def _routes_to(name: str) -> Iterator[Json]:
    """The streams by their own paths first, then all else of each service."""
    for service in PUBLIC[name]:
        for method in service.methods:
            if _is_stream(method):
                path = {"path": f"/{service.full_name}/{method.name}"}
                yield {"match": path, "route": {"cluster": name, **_UNBOUNDED}}
        unary: Json = {"cluster": name, **_UNBOUNDED, "retry_policy": _retry_policy()}
        yield {"match": {"prefix": f"/{service.full_name}/"}, "route": unary}


_UNBOUNDED: Final[Json] = {
    # The caller's own deadline counts, and the services bound every call that is no stream.
    "timeout": "0s",
    "max_stream_duration": {"grpc_timeout_header_max": "0s"},
    "idle_timeout": "0s",
}


def _is_stream(method: MethodDescriptor) -> bool:
    return bool(method.client_streaming or method.server_streaming)


def _retry_policy() -> Json:
    """At another replica, at once: every call that changes something has an id that counts once."""
    return {
        "retry_on": "unavailable,connect-failure,refused-stream,reset-before-request",
        "num_retries": _TRIES - 1,
        "retry_back_off": {"base_interval": "0.025s", "max_interval": "0.250s"},
        "retry_host_predicate": [
            extension(
                "envoy.retry_host_predicates.previous_hosts",
                "retry.host.previous_hosts.v3.PreviousHostsPredicate",
            )
        ],
        "host_selection_retry_max_attempts": 5,
    }


def _cluster(edge: Edge, name: str, addresses: Sequence[Address]) -> Json:
    endpoints = [{"endpoint": {"address": at(address)}} for address in addresses]
    http2: Json = {"connection_keepalive": {"interval": _PING_AFTER, "timeout": _PING_WITHIN}}
    explicit: Json = {"explicit_http_config": {"http2_protocol_options": http2}}
    protocol = typed("upstreams.http.v3.HttpProtocolOptions", explicit)
    cluster: Json = {
        "name": name,
        # A headless Service's name: each answer has every replica that is ready.
        "cluster_type": extension(
            "envoy.cluster.dns",
            "clusters.dns.v3.DnsCluster",
            {"dns_refresh_rate": "1s", "dns_lookup_family": "V4_ONLY"},
        ),
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": endpoints}],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol
        },
        # Without anybody who is ready it is better to be told so than to ask one who is not.
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        "health_checks": [_health_check()],
        "ignore_health_on_host_removal": True,
        "circuit_breakers": {
            "thresholds": [
                {
                    "max_connections": 1_000,
                    "max_requests": 100_000,
                    "max_pending_requests": 10_000,
                    "max_retries": 100,
                }
            ]
        },
        "load_balancing_policy": {"policies": [_balancing(name)]},
    }
    if edge.secrets:
        cluster["transport_socket"] = to_service(edge.secrets, name)
    return cluster


def _balancing(name: str) -> Json:
    """Whoever has the least to do; of engines the one that the caller has been told, if any."""
    least = extension(
        "envoy.load_balancing_policies.least_request",
        "load_balancing_policies.least_request.v3.LeastRequest",
    )
    if name != "engine":
        return {"typed_extension_config": least}
    named = extension(
        "envoy.load_balancing_policies.override_host",
        "load_balancing_policies.override_host.v3.OverrideHost",
        {
            # Only addresses that the cluster has are followed, so nobody is led elsewhere.
            "override_host_sources": [{"header": ENGINE_HEADER}],
            "fallback_policy": {"policies": [{"typed_extension_config": least}]},
        },
    )
    return {"typed_extension_config": named}


def _health_check() -> Json:
    """Readiness once a second, so that an ending process is left within its drain delay."""
    return {
        "timeout": "1s",
        "interval": "1s",
        # By default nobody is looked at for a minute until the first call.
        "no_traffic_interval": "1s",
        "unhealthy_threshold": 1,
        "healthy_threshold": 1,
        "grpc_health_check": {"service_name": "readiness"},
    }


def _telemetry_listener(edge: Edge) -> Json:
    """Metrics and readiness, and nothing else of the administration's port."""
    rewritten = (("/metrics", "/stats/prometheus"), ("/ready", "/ready"))
    routes = [
        {"match": {"path": path}, "route": {"cluster": "admin", "prefix_rewrite": to}}
        for path, to in rewritten
    ]
    manager = extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        {
            "stat_prefix": "telemetry",
            "route_config": {
                "name": "telemetry",
                "virtual_hosts": [{"name": "telemetry", "domains": ["*"], "routes": routes}],
            },
            "http_filters": [
                extension("envoy.filters.http.router", "filters.http.router.v3.Router")
            ],
        },
    )
    return {
        "name": "telemetry",
        "address": at(edge.telemetry),
        # It goes on telling while the other one drains.
        "drain_type": "MODIFY_ONLY",
        "filter_chains": [{"filters": [manager]}],
    }


def _admin_cluster(edge: Edge) -> Json:
    itself = {"endpoint": {"address": at(Address("127.0.0.1", edge.admin_port))}}
    assignment = {"cluster_name": "admin", "endpoints": [{"lb_endpoints": [itself]}]}
    return {"name": "admin", "type": "STATIC", "load_assignment": assignment}


def _overload() -> Json:
    heap = "envoy.resource_monitors.fixed_heap"
    monitor = extension(
        heap,
        "resource_monitors.fixed_heap.v3.FixedHeapConfig",
        {"max_heap_size_bytes": 400 * _MEBIBYTE},
    )
    refuse = "envoy.overload_actions.stop_accepting_requests"
    trigger: Json = {"name": heap, "threshold": {"value": 0.95}}
    return {
        "refresh_interval": "0.250s",
        "resource_monitors": [monitor],
        "actions": [{"name": refuse, "triggers": [trigger]}],
    }
