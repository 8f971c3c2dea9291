"""Whether a child takes work: gRPC health for services, what they understand for stores."""

import asyncio
from enum import Enum
from typing import Final

import grpc
from grpc_health.v1 import health_pb2
from sqlalchemy import text

from okey_runtime.channel import open_channel
from okey_runtime.database import Database, DatabaseAway, DatabaseBusy
from okey_runtime.readiness import READINESS
from services.standalone.plan import ChildPlan
from services.standalone.ports import HOST
from services.standalone.shape import POSTGRES, VALKEY

_CHECK: Final = "/grpc.health.v1.Health/Check"
_TIMEOUT_S: Final = 1.0


class Health(Enum):
    """What a child says of itself; SILENT where it says nothing in a second."""

    SERVING = "serving"
    NOT_SERVING = "not serving"
    SILENT = "silent"


async def is_serving(plan: ChildPlan) -> bool:
    """Whether it answers, and says that it may take work."""
    return await health_of(plan) is Health.SERVING


async def health_of(plan: ChildPlan) -> Health:
    """What it says now."""
    if plan.kind == VALKEY:
        return await _answers_ping(plan.ports.serving)
    if plan.kind == POSTGRES:
        return await _takes_connections(plan.probe_url)
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
            return Health.SILENT
    is_ready = answer.status == health_pb2.HealthCheckResponse.SERVING
    return Health.SERVING if is_ready else Health.NOT_SERVING


async def _answers_ping(port: int) -> Health:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return Health.SILENT
    return Health.SERVING if answer == b"+PONG\r\n" else Health.NOT_SERVING


async def _takes_connections(url: str) -> Health:
    database = Database(url, connections=1)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())
    except (DatabaseAway, DatabaseBusy):
        return Health.NOT_SERVING
    except TimeoutError:
        return Health.SILENT
    finally:
        await database.close()
    return Health.SERVING
