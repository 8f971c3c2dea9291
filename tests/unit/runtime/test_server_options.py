"""What gRPC is told about the servers, and that the docs say the same."""

import re
from pathlib import Path

from okey_runtime.config import ServiceSettings
from okey_runtime.server_options import probe_options, server_options

DOCS = Path(__file__).parents[3] / "docs" / "security.md"
LARGEST = 54_321
"""Stands for the largest message of a service's methods, which the docs give as a word."""
ROW = re.compile(
    r"^\| `(grpc\.[\w.]+)` \| ([\d,]+|–|largest) \| ([\d,]+|–) \| (\S.*) \|$", re.MULTILINE
)


def test_a_server_bounds_messages_metadata_streams_and_pings(settings: ServiceSettings) -> None:
    options = dict(server_options(settings, LARGEST))
    assert options["grpc.max_receive_message_length"] == LARGEST
    assert options["grpc.compression_enabled_algorithms_bitset"] == 1
    assert options["grpc.max_allowed_incoming_connections"] == settings.most_connections
    assert options["grpc.max_metadata_size"] == 8 << 10
    assert options["grpc.absolute_max_metadata_size"] == 16 << 10
    assert options["grpc.max_concurrent_streams"] == settings.max_streams_per_connection
    assert options["grpc.http2.min_ping_interval_without_data_ms"] == 5_000


def test_connections_grow_old_only_where_it_is_asked(settings: ServiceSettings) -> None:
    assert "grpc.max_connection_age_ms" not in dict(server_options(settings, LARGEST))
    aged = settings.model_copy(update={"max_connection_age_ms": 60_000})
    assert dict(server_options(aged, LARGEST))["grpc.max_connection_age_ms"] == 60_000


def test_the_docs_give_each_option_its_value_and_a_reason(settings: ServiceSettings) -> None:
    """A dash stands for what is left to gRPC's own default."""
    service, probes = dict(server_options(settings, LARGEST)), dict(probe_options())
    told = {name: (here, there) for name, here, there, _ in ROW.findall(DOCS.read_text())}
    assert told == {
        name: (_told(service.get(name)), _told(probes.get(name))) for name in service | probes
    }


def _told(value: int | None) -> str:
    if value == LARGEST:
        return "largest"
    return "–" if value is None else f"{value:,}"
