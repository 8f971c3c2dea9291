"""Where the services listen: fixed ports that can be remembered, or free ones."""

import socket

import pytest

from services.standalone.ports import HOST, Ports, PortTaken, fixed_ports, free_ports, planned_ports

NAMES = ("lobby", "engine", "wallet")


def test_free_ports_are_all_different() -> None:
    ports = free_ports(NAMES)
    assert list(ports) == list(NAMES)
    numbers = [number for own in ports.values() for number in (own.serving, own.metrics)]
    assert len(set(numbers)) == 2 * len(NAMES)
    assert {own.page for own in ports.values()} == {0}
    gateway = free_ports(("gateway",))["gateway"]
    assert len({gateway.page, gateway.serving, gateway.metrics}) == 3


def test_a_port_that_somebody_has_is_named() -> None:
    with socket.create_server((HOST, 0)) as taken:
        first = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"port {first}, meant for lobby.*--free-ports"):
            fixed_ports(NAMES, first)


def first_fixed_ports() -> tuple[int, dict[str, Ports]]:
    """Ports that nobody has, below those that the system gives to whoever asks for any."""
    for first in range(20_000, 30_000, 50):
        try:
            return first, fixed_ports(NAMES, first)
        except PortTaken:
            continue
    raise AssertionError("somebody has a port in each of 200 ranges")


def test_fixed_ports_follow_the_order_of_the_names() -> None:
    """Metrics are 20 above, so that both can be told from one number."""
    first, ports = first_fixed_ports()
    assert ports["lobby"] == Ports(first, first + 20)
    assert ports["wallet"] == Ports(first + 2, first + 22)


def test_a_gateways_first_port_is_for_people() -> None:
    ports = planned_ports(("gateway", "lobby"), 7400)
    assert ports["gateway"] == Ports(7440, 7420, 7400)
    assert ports["gateway"].page_url == "http://127.0.0.1:7400/"
    assert ports["lobby"] == Ports(7401, 7421)
    assert ports["lobby"].page_url == ""


def test_addresses_are_on_loopback() -> None:
    assert Ports(7401, 7421).address == "127.0.0.1:7401"
    assert Ports(7401, 7421).metrics_address == "127.0.0.1:7421"
    assert Ports(7406).metrics_address == ""
