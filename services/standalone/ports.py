"""The loopback ports of a platform: fixed ones that people can remember, or free ones for tests."""

import socket
from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.1"

_METRICS_OFFSET: Final = 20


class PortTaken(Exception):
    """Something else listens where a service shall; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where one process listens; ``metrics`` is 0 for one that has none."""

    serving: int
    metrics: int = 0

    @property
    def address(self) -> str:
        """``host:port`` for callers."""
        return f"{HOST}:{self.serving}"

    @property
    def metrics_address(self) -> str:
        """``host:port`` of the metrics, or "" where there are none."""
        return f"{HOST}:{self.metrics}" if self.metrics else ""


def fixed_ports(names: tuple[str, ...], first: int) -> dict[str, Ports]:
    """Ports from ``first`` on in the order of the names, metrics 20 above.

    Raises:
        PortTaken: one of them is in use.
    """
    ports = {
        name: Ports(first + index, first + index + _METRICS_OFFSET)
        for index, name in enumerate(names)
    }
    for name, own in ports.items():
        for port in (own.serving, own.metrics):
            _require_free(name, port)
    return ports


def free_ports(names: tuple[str, ...]) -> dict[str, Ports]:
    """Ports that nobody listens on right now; all different."""
    probes = [socket.create_server((HOST, 0)) for _ in range(2 * len(names))]
    numbers = iter([probe.getsockname()[1] for probe in probes])
    for probe in probes:
        probe.close()
    return {name: Ports(next(numbers), next(numbers)) for name in names}


def _require_free(name: str, port: int) -> None:
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise PortTaken(
            f"port {port}, meant for {name}, is taken on {HOST}: does a platform run already? "
            "Stop what listens there, or take free ports: "
            ".venv/bin/python -m services.standalone --free-ports"
        ) from error
