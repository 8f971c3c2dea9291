"""Hosts that show bad tokens: each one costs a signature's check, so a host may show so many.

Beyond that no token of the host is looked at for a moment, but those that were good before: whoever
plays from there notices nothing.
"""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final, Protocol
from urllib.parse import unquote

from okey_runtime.clock import Clock
from okey_runtime.errors import Unauthenticated
from okey_runtime.limits import Buckets, Limited
from okey_runtime.line_quota import LINES
from okey_runtime.logging import get_logger

_MOST_HOSTS: Final = 10_000
_NETWORK_BITS: Final = 64
"""Of an IPv6 address; whoever has one has all that begin like it."""

_log = get_logger(__name__)


class TooManyBadTokens(Limited):
    """The caller's host has shown more bad tokens than it may."""

    reason = "TOO_MANY_BAD_TOKENS"


class Peer(Protocol):
    """What a call tells of where it came from."""

    def peer(self) -> str:
        """gRPC's name of the other end."""
        ...


class BadTokens:
    """Counts bad tokens by host; ``is_known`` says of a token that it was good before."""

    def __init__(
        self, per_s: int, burst: int, clock: Clock, is_known: Callable[[str], bool]
    ) -> None:
        self._per_s = per_s
        self._buckets = Buckets(per_s, burst, clock, most=_MOST_HOSTS)
        self._is_known = is_known

    @contextmanager
    def looked_at(self, token: str, peer: Peer) -> Iterator[None]:
        """Around the check of a token. Raises ``TooManyBadTokens`` before it."""
        if self._is_known(token):
            yield
            return
        host = host_of_peer(peer.peer())
        wait_ms = self._buckets.wait_ms(host, "")
        if wait_ms:
            raise TooManyBadTokens(
                f"your address has shown more than {self._per_s} bad tokens a second: wait "
                f"{wait_ms} ms",
                wait_ms,
            )
        try:
            yield
        except Unauthenticated:
            self._buckets.take(host, "")
            if self._buckets.wait_ms(host, ""):
                LINES.warn(_log, "host_limited", host=host, why="it shows too many bad tokens")
            raise


def host_of_peer(peer: str) -> str:
    """The host of gRPC's ``ipv4:1.2.3.4:567``, ``ipv6:[::1]:567`` or ``unix:path``; of an IPv6
    address the network, since its owner has all of that.
    """
    scheme, _, rest = unquote(peer).partition(":")
    if scheme not in ("ipv4", "ipv6"):
        return scheme
    return network_of(rest.rpartition(":")[0].strip("[]")) or scheme


@lru_cache(maxsize=_MOST_HOSTS)
def network_of(text: str) -> str:
    """An IPv4 address as it is, of an IPv6 address its network; empty for what is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    if address.version == 4:
        return str(address)
    # So is an IPv4 address written that comes in where both are listened for.
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))
