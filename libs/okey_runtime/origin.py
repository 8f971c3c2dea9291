"""Where a call comes from: the other end of its connection, or whom the edge passes on.

Behind an edge all callers have its address. It names theirs in ``x-forwarded-for``, a header that
any caller may send; so it is believed of a connection with the edge's certificate alone, and of
the addresses in it only the last, which is the one that the edge has seen itself.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

HEADER: Final = "x-forwarded-for"
_NAMES: Final = "x509_subject_alternative_name"


class Connection(Protocol):
    """What a call tells of the connection that it came over."""

    def auth_context(self) -> Mapping[str, Any]:
        """gRPC's properties of the peer."""
        ...

    def peer(self) -> str:
        """gRPC's name of the other end."""
        ...


def certificate_names(connection: Connection) -> tuple[str, ...]:
    """The names in the certificate that the other end has shown; none without one."""
    names = connection.auth_context().get(_NAMES) or ()
    return tuple(name.decode(errors="replace") for name in names)


def is_edge(connection: Connection, edge_name: str) -> bool:
    """Whether the other end has shown the edge's certificate; "" is the name of none."""
    return bool(edge_name) and edge_name in certificate_names(connection)


class Origin:
    """Where one call comes from; ``edge_name`` is the edge's in its certificate, "" for none."""

    def __init__(
        self, metadata: Iterable[tuple[str, str | bytes]], connection: Connection, edge_name: str
    ) -> None:
        self._metadata = metadata
        self._connection = connection
        self._edge_name = edge_name

    def peer(self) -> str:
        """In gRPC's form, ``ipv4:1.2.3.4:567``; the port of who is passed on is unknown, 0."""
        return self._passed_on() or self._connection.peer()

    def _passed_on(self) -> str:
        if not is_edge(self._connection, self._edge_name):
            return ""
        told = [str(value) for name, value in self._metadata if name == HEADER]
        last = ",".join(told).rpartition(",")[2].strip()
        try:
            address = ipaddress.ip_address(last)
        except ValueError:
            return ""
        return f"ipv4:{address}:0" if address.version == 4 else f"ipv6:[{address}]:0"
