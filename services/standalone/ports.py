"""The loopback ports of a platform: fixed ones that people can remember, or free ones for tests."""

import socket
from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.1"

_METRICS_OFFSET: Final = 20
_GRPC_OFFSET: Final = 40
"""Of a gateway alone, which serves people first."""


class PortTaken(Exception):
    """Something else listens where a service shall; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where one process listens; ``metrics`` and ``page`` are 0 for one that has none."""

    serving: int
    metrics: int = 0
    page: int = 0

    @property
    def address(self) -> str:
        """``host:port`` for callers."""
        return f"{HOST}:{self.serving}"

    @property
    def metrics_address(self) -> str:
        """``host:port`` of the metrics, or "" where there are none."""
        return f"{HOST}:{self.metrics}" if self.metrics else ""

    @property
    def page_url(self) -> str:
        """What people open in a browser, or "" where there is nothing to see."""
        return f"http://{HOST}:{self.page}/" if self.page else ""


def planned_ports(names: tuple[str, ...], first: int) -> dict[str, Ports]:
    """What ``fixed_ports`` gives, whoever has them now."""
    return {name: _planned(name, first + index) for index, name in enumerate(names)}


def fixed_ports(names: tuple[str, ...], first: int) -> dict[str, Ports]:
    """Ports from ``first`` on in the order of the names, metrics 20 above; a gateway's own is its
    page's, and its gRPC 40 above.

    Raises:
        PortTaken: one of them is in use.
    """
    ports = planned_ports(names, first)
    for name, own in ports.items():
        for port in (own.page, own.serving, own.metrics):
            if port:
                _require_free(name, port)
    return ports


def _planned(name: str, first: int) -> Ports:
    metrics = first + _METRICS_OFFSET
    if _has_page(name):
        return Ports(first + _GRPC_OFFSET, metrics, first)
    return Ports(first, metrics)


def _has_page(name: str) -> bool:
    return name.partition("-")[0] == "gateway"


def free_ports(names: tuple[str, ...]) -> dict[str, Ports]:
    """Ports that nobody listens on right now; all different."""
    probes = [socket.create_server((HOST, 0)) for _ in range(3 * len(names))]
    numbers = iter([probe.getsockname()[1] for probe in probes])
    for probe in probes:
        probe.close()
    return {
        name: Ports(next(numbers), next(numbers), next(numbers) if _has_page(name) else 0)
        for name in names
    }


def _require_free(name: str, port: int) -> None:
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise PortTaken(
            f"port {port}, meant for {name}, is taken on {HOST}: does a platform run already? "
            "Stop what listens there, or take free ports: "
            ".venv/bin/python -m services.standalone --free-ports"
        ) from error
