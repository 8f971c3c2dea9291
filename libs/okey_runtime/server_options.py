"""What gRPC itself is told about every server: how much it takes in, and for how long it waits.

docs/security.md says why each value is as it is; a test compares the two.
"""

from typing import Final

from okey_runtime.config import ServiceSettings

Options = list[tuple[str, int]]

_METADATA_BYTES: Final = 8 << 10
_HANDSHAKE_MS: Final = 10_000
_PING_INTERVAL_MS: Final = 5_000
_MOST_PENDING: Final = 20_000
_IDLE_MS: Final = 300_000
_IDENTITY_ONLY: Final = 1
_PROBES: Final = 100
_PROBE_PING_MS: Final = 20_000
_PROBE_PING_TIMEOUT_MS: Final = 10_000
_PROBE_BYTES: Final = 4 << 10
_PROBE_CONNECTIONS: Final = 256
_PROBE_AGE_MS: Final = 60_000
_PROBE_GRACE_MS: Final = 5_000

_EVERYWHERE: Final[Options] = [
    # Otherwise a second process on the same port would silently take half of the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.enable_http_proxy", 0),
    # A bit an algorithm, of which the first is none: a compressed message is refused before it is
    # inflated, and answers are not compressed either.
    ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),
    # By default a connection that says nothing is kept for two minutes, and costs memory.
    ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
    # Beyond the first some of it is refused, beyond the second all.
    ("grpc.max_metadata_size", _METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", 2 * _METADATA_BYTES),
    ("grpc.keepalive_permit_without_calls", 1),
    # This is the name that works; the one with "recv" in it does nothing, and clients' pings end in
    # GOAWAY.
    ("grpc.http2.min_ping_interval_without_data_ms", _PING_INTERVAL_MS),
]


def server_options(settings: ServiceSettings, most_bytes: int) -> Options:
    """The options of a service's own port; ``most_bytes`` is the largest message of its methods."""
    options = [
        *_EVERYWHERE,
        *_pings(settings.ping_after_ms, settings.ping_timeout_ms),
        ("grpc.max_receive_message_length", most_bytes),
        ("grpc.max_allowed_incoming_connections", settings.most_connections),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.max_concurrent_streams", settings.max_streams_per_connection),
        # By default a server cancels calls at random once 1,000 wait to be picked up, which a crowd
        # that reconnects at the same moment reaches at once.
        ("grpc.server.max_pending_requests", _MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", _MOST_PENDING),
    ]
    if settings.max_connection_age_ms is not None:
        options.append(("grpc.max_connection_age_ms", settings.max_connection_age_ms))
    return options


def probe_options() -> Options:
    """The options of the port that serves health alone: whoever asks there comes anew each time, so
    nothing is kept for long, whatever it says or does not say.
    """
    return [
        *_EVERYWHERE,
        *_pings(_PROBE_PING_MS, _PROBE_PING_TIMEOUT_MS),
        ("grpc.max_receive_message_length", _PROBE_BYTES),
        ("grpc.max_allowed_incoming_connections", _PROBE_CONNECTIONS),
        ("grpc.max_concurrent_streams", _PROBES),
        ("grpc.max_connection_age_ms", _PROBE_AGE_MS),
        ("grpc.max_connection_age_grace_ms", _PROBE_GRACE_MS),
    ]


def _pings(after_ms: int, timeout_ms: int) -> Options:
    return [
        ("grpc.keepalive_time_ms", after_ms),
        ("grpc.keepalive_timeout_ms", timeout_ms),
        # What counts in the end: by default a ping's answer is waited for for a minute.
        ("grpc.http2.ping_timeout_ms", timeout_ms),
    ]
