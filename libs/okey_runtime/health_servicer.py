"""``grpc.health.v1`` as it is served: no watcher holds up a change of state."""

# gRPC's context classes are generic to the type checker only.
from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from okey_runtime.aborting import abort, abort_with
from okey_runtime.unforeseen import status_for
from okey_runtime.unread import UNREAD_FOR_S, Cut, StreamNotRead

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_UNKNOWN: Final = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthServicer(health_pb2_grpc.HealthServicer):
    """Tells the states to every caller. No change waits for a watcher: gRPC's own servicer holds a
    lock while it writes, which one watcher that does not read then holds for ever.
    """

    def __init__(self) -> None:
        self._states: dict[str, int] = {}
        self._changed = asyncio.Event()

    def set(self, names: Iterable[str], state: int) -> None:
        """Set the state of each name, and wake the watchers."""
        self._states.update(dict.fromkeys(names, state))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse:
        """The state of one name."""
        state = self._states.get(request.service)
        if state is None:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                'no service here has this name: ask for "", readiness, liveness or a gRPC service',
                (),
            )
        return health_pb2.HealthCheckResponse(status=state)

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:
        """The state of one name, now and at each change; some may be left out in between."""
        cut = Cut()
        try:
            with cut.telling():
                await self._tell(request.service, context, cut)
        except StreamNotRead as error:
            # Here, since the port for probes has no interceptor that would do so.
            await abort_with(context, status_for(error))

    async def _tell(self, name: str, context: Context, cut: Cut) -> None:
        told = None
        while True:
            changed, state = self._changed, self._states.get(name, _UNKNOWN)
            if state != told:
                with cut.unread_for(UNREAD_FOR_S):
                    await context.write(health_pb2.HealthCheckResponse(status=state))
                told = state
            await changed.wait()
