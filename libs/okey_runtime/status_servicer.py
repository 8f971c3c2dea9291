"""StatusService: what this process says about itself, to operators and to services that call it."""

from typing import Any, Final

import grpc

from okey.api.common.v1 import status_pb2, status_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.identity import SERVICE_ROLES, Role
from okey_runtime.status import Status

SERVICE: Final = "okey.api.common.v1.StatusService"
ACCESS: Final = AccessTable.of(SERVICE, {"GetStatus": {*SERVICE_ROLES, Role.OPERATOR}})


class StatusServicer(status_pb2_grpc.StatusServiceServicer):
    """Serves one process's status."""

    def __init__(self, status: Status) -> None:
        self._status = status

    async def GetStatus(
        self,
        request: status_pb2.GetStatusRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> status_pb2.GetStatusResponse:
        """Look, and tell."""
        return await self._status.tell(with_checks=request.with_checks)
