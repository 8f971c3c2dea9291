"""Whether this process is alive and may take work, told through ``grpc.health.v1``.

The health service named ``liveness`` serves for as long as the event loop turns. The overall one
(""), ``readiness`` and each gRPC service by its name serve while the service has started, is not
stopping, and nothing blocks it.
"""

from collections.abc import Sequence
from typing import Final

from grpc_health.v1 import health_pb2

from okey_runtime.health_servicer import HealthServicer

LIVENESS: Final = "liveness"
READINESS: Final = "readiness"

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING: Final = health_pb2.HealthCheckResponse.NOT_SERVING


class Readiness:
    """Ready once started, and while no reason stands against it (such as a lost database)."""

    def __init__(self, services: Sequence[str]) -> None:
        self.servicer: Final = HealthServicer()
        self._names: Final = ("", READINESS, *services)
        self._reasons = {"starting"}

    @property
    def is_ready(self) -> bool:
        """Whether the service may take work."""
        return not self._reasons

    @property
    def reasons(self) -> frozenset[str]:
        """What stands against taking work."""
        return frozenset(self._reasons)

    async def block(self, reason: str) -> None:
        """Take no work until ``unblock`` is called with the same reason."""
        self._reasons.add(reason)
        self._tell()

    async def unblock(self, reason: str) -> None:
        """The reason no longer stands."""
        self._reasons.discard(reason)
        self._tell()

    async def announce(self) -> None:
        """Tell for the first time that the process lives, and that it is not ready yet."""
        self.servicer.set((LIVENESS,), _SERVING)
        self._tell()

    async def started(self) -> None:
        """The app has started."""
        await self.unblock("starting")

    async def stopping(self) -> None:
        """The app will stop; there is no way back."""
        await self.block("stopping")

    def _tell(self) -> None:
        self.servicer.set(self._names, _SERVING if self.is_ready else _NOT_SERVING)
