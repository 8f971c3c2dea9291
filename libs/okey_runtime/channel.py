"""Channels to other services: round robin, bounded retries of what may be repeated, quick
reconnects, own token attached.
"""

import json
from collections.abc import Iterable
from typing import Final

import grpc

from okey_runtime.deadline import timeout_s
from okey_runtime.renewed_channel import RenewedChannel
from okey_runtime.service_token import MetadataProvider, token_interceptors
from okey_runtime.tls import (
    Material,
    Plaintext,
    Security,
    refuse_plaintext_beyond_loopback,
)

__all__ = ["open_channel", "replicas_target", "timeout_s"]

PING_AFTER_MS: Final = 7_000
"""A connection that says nothing for so long is asked whether anybody is there."""
PING_WITHIN_MS: Final = 3_000
"""How long its answer may take. Both together are less than the time after which another engine
has the tables of one that hangs, and a player's turn there can be over.
"""

_BACKOFF_FIRST_MS: Final = 100
_BACKOFF_LAST_MS: Final = 500
_CONNECT_WITHIN_MS: Final = 3_000
_MAX_ATTEMPTS: Final = 4


def open_channel(
    target: str,
    *,
    token: MetadataProvider | None = None,
    idempotent: Iterable[str] = (),
    max_message_bytes: int = 4 << 20,
    security: Security = Plaintext.ON_LOOPBACK,
) -> grpc.aio.Channel:
    """A channel to ``target`` (``host:port``, ``dns:///name:port``, or what ``replicas_target``
    gives); close it when done.

    Args:
        token: gives the ``authorization`` metadata of each call; None sends none.
        idempotent: full names (``/package.Service/Method``) of methods that are retried on
            UNAVAILABLE, at most four tries; only those that take effect once however often they
            arrive.
        security: TLS, or plaintext; by default plaintext on this machine.

    Raises:
        PlaintextRefused: the target is elsewhere, and plaintext was not allowed there.
    """
    options = _options(service_config(idempotent), max_message_bytes)
    interceptors = [] if token is None else token_interceptors(token)
    if isinstance(security, Plaintext):
        if security is Plaintext.ON_LOOPBACK:
            refuse_plaintext_beyond_loopback(target)
        return grpc.aio.insecure_channel(target, options=options, interceptors=interceptors)
    if security.name:
        options.append(("grpc.ssl_target_name_override", security.name))

    def open_one(material: Material) -> grpc.aio.Channel:
        return grpc.aio.secure_channel(
            target, security.credentials(material), options=options, interceptors=interceptors
        )

    return RenewedChannel(security.files, open_one)


def replicas_target(addresses: Iterable[str]) -> str:
    """One target for several replicas at known addresses (``host:port``, the host an IPv4 address
    if there are several): calls go to them in turn, past those that are away.
    """
    known = list(addresses)
    return known[0] if len(known) == 1 else f"ipv4:{','.join(known)}"


def service_config(idempotent: Iterable[str] = ()) -> str:
    """gRPC's service config as JSON: round robin, and retries for the methods named."""
    names = []
    for method in idempotent:
        _, service, short_name = method.split("/")
        names.append({"service": service, "method": short_name})
    retry = {
        "name": names,
        "retryPolicy": {
            "maxAttempts": _MAX_ATTEMPTS,
            "initialBackoff": f"{_BACKOFF_FIRST_MS / 1000}s",
            "maxBackoff": f"{_BACKOFF_LAST_MS / 1000}s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }
    return json.dumps(
        {"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [retry] if names else []}
    )


def _options(config: str, max_message_bytes: int) -> list[tuple[str, str | int]]:
    return [
        ("grpc.service_config", config),
        # A connection of its own for each channel: a shared one would have an old certificate, or
        # the pause after another channel's failure.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", _BACKOFF_FIRST_MS),
        # Despite its name this is how long a connection may take to come about.
        ("grpc.min_reconnect_backoff_ms", _CONNECT_WITHIN_MS),
        ("grpc.max_reconnect_backoff_ms", _BACKOFF_LAST_MS),
        # With the default of 30 s every call fails for seconds after a replica has died.
        ("grpc.dns_min_time_between_resolutions_ms", 1_000),
        ("grpc.keepalive_time_ms", PING_AFTER_MS),
        ("grpc.keepalive_timeout_ms", PING_WITHIN_MS),
        # What counts in the end: by default a ping's answer is waited for for a minute.
        ("grpc.http2.ping_timeout_ms", PING_WITHIN_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", max_message_bytes),
    ]
