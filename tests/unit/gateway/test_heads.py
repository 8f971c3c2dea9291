"""Which address a request is counted under."""

import pytest

from services.gateway.heads import origin_of, parse_networks

PROXIES = parse_networks("10.0.0.0/8, fd00::/8")


@pytest.mark.parametrize(
    ("peer", "forwarded", "origin"),
    [
        ("192.0.2.7", "", "192.0.2.7"),
        ("192.0.2.7", "198.51.100.1", "192.0.2.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.5, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1, 10.9.9.9", "198.51.100.1"),
        ("10.0.0.1", "10.1.1.1, 10.9.9.9", "10.1.1.1"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("fd00::1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fd00::1", "[2001:db8:1:2:3::4]:4711", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:3::4%eth0", "", "2001:db8:1:2::/64"),
        ("10.0.0.1", "nonsense", ""),
    ],
)
def test_only_proxies_are_believed(peer: str, forwarded: str, origin: str) -> None:
    headers = [(b"x-forwarded-for", part.encode()) for part in forwarded.split("|") if part]
    assert origin_of(peer, headers, PROXIES) == origin


def test_hops_in_several_headers_are_one_list() -> None:
    headers = [(b"x-forwarded-for", b"203.0.113.5"), (b"x-forwarded-for", b"198.51.100.1")]
    assert origin_of("10.0.0.1", headers, PROXIES) == "198.51.100.1"
