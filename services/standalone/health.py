"""Whether a child takes work: gRPC health for services, PING for Valkey."""

import asyncio
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from okey_runtime.channel import open_channel
from okey_runtime.readiness import READINESS
from services.standalone.plan import ChildPlan
from services.standalone.ports import HOST

_CHECK: Final = "/grpc.health.v1.Health/Check"
_TIMEOUT_S: Final = 1.0


async def is_serving(plan: ChildPlan) -> bool:
    """Whether it answers, and says that it may take work."""
    if plan.is_valkey:
        return await _answers_ping(plan.ports.serving)
    async with open_channel(plan.ports.address) as channel:
        check = channel.unary_unary(
            _CHECK,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(
                health_pb2.HealthCheckRequest(service=READINESS), timeout=_TIMEOUT_S
            )
        except grpc.aio.AioRpcError:
            return False
    return answer.status == health_pb2.HealthCheckResponse.SERVING


async def _answers_ping(port: int) -> bool:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return answer == b"+PONG\r\n"
