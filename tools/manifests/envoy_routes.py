"""Where the edge leads calls: the published methods by their exact paths, and nothing else.

Unary calls are tried again at another replica where nothing has decided them; streams are not,
since they resume with a cursor. What no route takes is answered with UNIMPLEMENTED.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from okey_client.channels import ENGINE_HEADER
from okey_runtime.allowlist import HOMES, PublishedMethod
from tools.manifests.envoy_limits import Limits, seconds
from tools.manifests.envoy_parts import Json, extension, typed

_TRIES: Final = 3
_CORS: Final = "envoy.filters.http.cors"
_BUFFER: Final = "envoy.filters.http.buffer"
_GRPC_POST: Final = (
    {"name": ":method", "string_match": {"exact": "POST"}},
    {"name": "content-type", "string_match": {"prefix": "application/grpc"}},
)


def routes(published: Iterable[PublishedMethod], limits: Limits, origins: Sequence[str]) -> Json:
    """The route configuration; pages of ``origins`` may call, and no others."""
    found = [
        _refuse_compressed("grpc-encoding"),
        _refuse_compressed("content-encoding"),
        *(_route(each, limits) for each in published),
    ]
    host: Json = {"name": "platform", "domains": ["*"], "routes": found}
    if origins:
        host["routes"] = [*found, *map(_preflight, origins)]
        host["typed_per_filter_config"] = {_CORS: _cors(origins)}
    return {"name": "edge", "virtual_hosts": [host]}


def _refuse_compressed(header: str) -> Json:
    """404 is UNIMPLEMENTED in gRPC, which its specification asks for here."""
    sent: Json = {"name": header, "present_match": True}
    inflated: Json = {"name": header, "string_match": {"exact": "identity"}, "invert_match": True}
    taken: Json = {"header": {"key": "grpc-accept-encoding", "value": "identity"}}
    told = f"compressed requests are not accepted: leave {header} out, or send 'identity'"
    return {
        "match": {"prefix": "/", "headers": [sent, inflated]},
        "direct_response": {"status": 404, "body": {"inline_string": told}},
        "response_headers_to_add": [taken],
    }


def _route(published: PublishedMethod, limits: Limits) -> Json:
    """The caller's own deadline counts; calls that are no streams have a longest time as well, in
    which the request has to come, too.
    """
    match: Json = {"path": published.path, "headers": list(_GRPC_POST)}
    to: Json = {"cluster": published.home, "timeout": "0s"}
    if published.is_stream:
        to["max_stream_duration"] = {"grpc_timeout_header_max": "0s"}
        to["idle_timeout"] = seconds(limits.idle_stream_s)
    else:
        longest = seconds(limits.unary_s)
        to["max_stream_duration"] = {
            "max_stream_duration": longest,
            "grpc_timeout_header_max": longest,
        }
        to["idle_timeout"] = "0s"
        to["retry_policy"] = _retry_policy()
    route: Json = {"match": match, "route": to}
    if published.method.client_streaming:
        # A stream is not held back until it has ended; services bound its messages.
        whole = typed("filters.http.buffer.v3.BufferPerRoute", {"disabled": True})
        route["typed_per_filter_config"] = {_BUFFER: whole}
    return route


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


def _preflight(origin: str) -> Json:
    """A browser's question from a page that may call. The filter answers it, so the cluster, which
    a route must have, is never asked; the same question from another page has no route.
    """
    asked = {":method": "OPTIONS", "origin": origin, "access-control-request-method": "POST"}
    headers = [{"name": name, "string_match": {"exact": value}} for name, value in asked.items()]
    return {"match": {"prefix": "/", "headers": headers}, "route": {"cluster": HOMES[0]}}


def _cors(origins: Sequence[str]) -> Json:
    """No cookie counts: who calls is said by a token that a script has."""
    sent = ("authorization", "grpc-timeout", ENGINE_HEADER, "traceparent", "content-type")
    return typed(
        "filters.http.cors.v3.CorsPolicy",
        {
            "allow_origin_string_match": [{"exact": origin} for origin in origins],
            "allow_methods": "POST, OPTIONS",
            "allow_headers": ", ".join((*sent, "x-grpc-web", "x-user-agent")),
            "expose_headers": "grpc-status, grpc-message, grpc-status-details-bin",
            "max_age": "86400",
        },
    )
