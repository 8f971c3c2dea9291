"""Envoy before the platform: gRPC and gRPC-Web from outside, balanced over every replica.

Only published methods are let through (``envoy_routes``), within the limits of ``envoy_limits``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from okey_client.channels import ENGINE_HEADER
from okey_runtime.allowlist import HOMES, PUBLISHED, PublishedMethod
from okey_runtime.channel import PING_AFTER_MS, PING_WITHIN_MS
from tools.manifests import envoy_limits
from tools.manifests.envoy_limits import Limits, seconds
from tools.manifests.envoy_parts import Address, Json, at, extension, typed
from tools.manifests.envoy_routes import routes
from tools.manifests.envoy_tls import secrets, to_callers, to_service

_ADMIN_PORT: Final = 9901
# As our own clients ask: behind Envoy nobody else notices a replica that hangs.
_PING_AFTER: Final = f"{PING_AFTER_MS // 1_000}s"
_PING_WITHIN: Final = f"{PING_WITHIN_MS // 1_000}s"


@dataclass(frozen=True)
class Edge:
    """Where Envoy listens, where it finds each of the ``HOMES``, what it passes on, and how much.

    ``secrets`` is the folder of the files of ``secrets()``: with it both sides speak TLS, with the
    certificate ``edge`` to callers and ``platform`` to services, which ``authorities`` has signed.
    Browsers let the pages of ``origins`` call, and no others.
    """

    listen: Address
    telemetry: Address
    services: Mapping[str, Sequence[Address]]
    secrets: str = ""
    admin_port: int = _ADMIN_PORT
    origins: Sequence[str] = ()
    limits: Limits = envoy_limits.DEFAULTS
    published: Sequence[PublishedMethod] = PUBLISHED


def bootstrap(edge: Edge) -> Json:
    """The whole configuration, to be written as YAML or JSON."""
    clusters = [_cluster(edge, name, edge.services[name]) for name in HOMES]
    return {
        "node": {"id": "edge", "cluster": "okey-edge"},
        "admin": {
            "address": at(Address("127.0.0.1", edge.admin_port)),
        },
        "static_resources": {
            "listeners": [_edge_listener(edge), _telemetry_listener(edge)],
            "clusters": [*clusters, _admin_cluster(edge)],
        },
        "overload_manager": envoy_limits.overload(edge.limits),
        "layered_runtime": {
            "layers": [{"name": "limits", "static_layer": envoy_limits.RUNTIME}],
        },
    }


def deployed(origins: Sequence[str] = (), limits: Limits = envoy_limits.DEFAULTS) -> Edge:
    """The edge of an environment: services are found by their headless Services, certificates where
    their Secrets are mounted.
    """
    return Edge(
        Address("0.0.0.0", 8443),
        Address("0.0.0.0", 7420),
        {name: [Address(name, 7400)] for name in HOMES},
        secrets="/etc/envoy-secrets",
        origins=origins,
        limits=limits,
    )


def deployed_files() -> dict[str, Json]:
    """The files of deploy/components/edge, by name."""
    made = secrets("/var/run/okey/public-tls", "/var/run/okey/tls")
    return {"envoy.yaml": bootstrap(deployed()), **made}


def _edge_listener(edge: Edge) -> Json:
    chain: Json = {"filters": [_connections(edge)]}
    if edge.secrets:
        chain["transport_socket"] = to_callers(edge.secrets)
        chain["transport_socket_connect_timeout"] = seconds(edge.limits.handshake_s)
    return {
        "name": "edge",
        "address": at(edge.listen),
        "per_connection_buffer_limit_bytes": envoy_limits.CONNECTION_BUFFER,
        **envoy_limits.crowds(edge.limits, chain),
    }


def _connections(edge: Edge) -> Json:
    """HTTP/2 for gRPC, HTTP/1.1 for browsers that speak gRPC-Web over it."""
    limits = edge.limits
    return extension(
        "envoy.filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        {
            "stat_prefix": "edge",
            "codec_type": "AUTO",
            # What a caller says of where it comes from, or tells Envoy to do, is not believed.
            "use_remote_address": True,
            "normalize_path": True,
            "merge_slashes": True,
            "path_with_escaped_slashes_action": "REJECT_REQUEST",
            "max_request_headers_kb": limits.headers_kib,
            "request_headers_timeout": seconds(limits.headers_s),
            # Routes say how long a call may be silent; this is for what has no route.
            "stream_idle_timeout": seconds(limits.unary_s),
            "stream_flush_timeout": seconds(limits.unread_s),
            "common_http_protocol_options": {
                "idle_timeout": seconds(limits.idle_connection_s),
                "max_headers_count": limits.headers,
                "headers_with_underscores_action": "REJECT_REQUEST",
            },
            "http2_protocol_options": {
                "max_concurrent_streams": limits.streams_per_connection,
                "initial_stream_window_size": envoy_limits.STREAM_WINDOW,
                "initial_connection_window_size": envoy_limits.CONNECTION_WINDOW,
                # Streams may be silent for minutes; pings find callers that have gone.
                "connection_keepalive": {"interval": "20s", "timeout": "10s"},
            },
            # As long as an ending process is given, so that the last calls are answered.
            "drain_timeout": "5s",
            "route_config": routes(edge.published, limits, edge.origins),
            "http_filters": [
                # First, so that a page can read what the others refuse.
                extension("envoy.filters.http.cors", "filters.http.cors.v3.Cors"),
                extension("envoy.filters.http.grpc_web", "filters.http.grpc_web.v3.GrpcWeb"),
                envoy_limits.local_rate_limit(limits),
                envoy_limits.largest_request(limits),
                extension("envoy.filters.http.router", "filters.http.router.v3.Router"),
            ],
        },
    )


def _cluster(edge: Edge, name: str, addresses: Sequence[Address]) -> Json:
    endpoints = [{"endpoint": {"address": at(address)}} for address in addresses]
    http2: Json = {
        "initial_stream_window_size": envoy_limits.STREAM_WINDOW,
        "initial_connection_window_size": envoy_limits.SERVICE_WINDOW,
        "connection_keepalive": {"interval": _PING_AFTER, "timeout": _PING_WITHIN},
    }
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
        "per_connection_buffer_limit_bytes": envoy_limits.CONNECTION_BUFFER,
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
        # A full edge has to be seen, and not to be restarted by its probes.
        "bypass_overload_manager": True,
        "filter_chains": [{"filters": [envoy_limits.telemetry_connections(), manager]}],
    }


def _admin_cluster(edge: Edge) -> Json:
    itself = {"endpoint": {"address": at(Address("127.0.0.1", edge.admin_port))}}
    assignment = {"cluster_name": "admin", "endpoints": [{"lb_endpoints": [itself]}]}
    return {"name": "admin", "type": "STATIC", "load_assignment": assignment}
