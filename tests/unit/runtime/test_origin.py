"""A call's origin is its connection's other end, and behind the edge whom the edge has seen."""

from collections.abc import Mapping

import pytest

from okey_runtime.origin import HEADER, Origin

EDGE_PEER = "ipv4:10.0.0.9:4000"


class Known:
    """A connection with a certificate for these names."""

    def __init__(self, *names: str) -> None:
        self._names = [name.encode() for name in names]

    def auth_context(self) -> Mapping[str, list[bytes]]:
        return {"x509_subject_alternative_name": self._names} if self._names else {}

    def peer(self) -> str:
        return EDGE_PEER


def peer_of(connection: Known, *told: str, edge_name: str = "edge") -> str:
    metadata = [("user-agent", "a"), *((HEADER, each) for each in told)]
    return Origin(metadata, connection, edge_name).peer()


@pytest.mark.parametrize(
    ("told", "peer"),
    [
        (("192.0.2.7",), "ipv4:192.0.2.7:0"),
        (("2001:db8::7",), "ipv6:[2001:db8::7]:0"),
        # What the caller itself has sent stands before what the edge has seen.
        (("198.51.100.1, 192.0.2.7",), "ipv4:192.0.2.7:0"),
        (("198.51.100.1", "192.0.2.7"), "ipv4:192.0.2.7:0"),
        ((), EDGE_PEER),
        (("",), EDGE_PEER),
        (("nobody",), EDGE_PEER),
        (("192.0.2.7, nobody",), EDGE_PEER),
    ],
)
def test_the_edge_says_whom_it_passes_on(told: tuple[str, ...], peer: str) -> None:
    assert peer_of(Known("edge.okey", "edge"), *told) == peer


@pytest.mark.parametrize("connection", [Known(), Known("gateway"), Known("edge.elsewhere")])
def test_nobody_else_is_believed(connection: Known) -> None:
    assert peer_of(connection, "192.0.2.7") == EDGE_PEER


def test_without_a_name_of_the_edge_nobody_is() -> None:
    assert peer_of(Known("edge", ""), "192.0.2.7", edge_name="") == EDGE_PEER
