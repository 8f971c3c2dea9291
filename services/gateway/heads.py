"""What a request's head may look like, and which address it comes from."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, Final

from okey.errors import quoted
from okey_runtime.bad_tokens import network_of
from okey_runtime.errors import MalformedRequest

MOST_HEAD_BYTES: Final = 16 << 10
"""Of the request line and all headers."""
_MOST_HEADERS: Final = 100
_MOST_HEADER_BYTES: Final = 8_000
_MOST_TARGET_BYTES: Final = 2_048

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class RequestUnfit(MalformedRequest):
    """The request's head cannot be used; ``status`` is the answer's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status: Final = status


def check_head(scope: Mapping[str, Any]) -> None:
    """Return if the head of a request has a form that is served.

    Raises:
        RequestUnfit: it has not.
    """
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    target_bytes = len(scope["raw_path"]) + len(scope["query_string"])
    if target_bytes > _MOST_TARGET_BYTES:
        raise RequestUnfit(f"an address has at most {_MOST_TARGET_BYTES} bytes", 414)
    if len(headers) > _MOST_HEADERS:
        raise RequestUnfit(f"a request has at most {_MOST_HEADERS} headers", 431)
    if any(len(name) + len(value) > _MOST_HEADER_BYTES for name, value in headers):
        raise RequestUnfit(f"a header has at most {_MOST_HEADER_BYTES} bytes", 431)
    names = {name for name, _ in headers}
    if {b"transfer-encoding", b"content-length"} <= names:
        # A proxy before us may have read the other one, and so another request.
        raise RequestUnfit("a body has a Content-Length or a Transfer-Encoding, not both", 400)
    for name, value in headers:
        if name == b"content-encoding" and value.strip().lower() != b"identity":
            encoding = quoted(value.decode("latin-1"))
            raise RequestUnfit(f"bodies are sent as they are, not as {encoding}", 415)


def parse_networks(text: str) -> tuple[Network, ...]:
    """The networks that ``10.0.0.0/8, fd00::/8`` names; an address is a network of one.

    Raises:
        ValueError: one of them is no network.
    """
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def is_within(address: str, networks: Iterable[Network]) -> bool:
    """Whether an address belongs to one of the networks; what is no address belongs to none."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if found.version == 6 else None
    return any((mapped or found) in network for network in networks)


def origin_of(
    peer: str, headers: Iterable[tuple[bytes, bytes]], proxies: tuple[Network, ...]
) -> str:
    """The address that is counted: the peer's, or what a trusted proxy has added to
    ``x-forwarded-for`` as the address of its own peer; of IPv6 the network.
    """
    if is_within(peer, proxies):
        told = b",".join(value for name, value in headers if name == b"x-forwarded-for")
        for hop in reversed(told.decode("latin-1").split(",")):
            peer = hop.strip() or peer
            if not is_within(peer, proxies):
                break
    without_port = peer.rpartition(":")[0].strip("[]")
    return network_of(peer) or network_of(without_port)
