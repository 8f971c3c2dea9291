from typing import Any

import pytest
from grpc_health.v1 import health_pb2

from okey_runtime.readiness import LIVENESS, READINESS, Readiness

READY_NAMES = ["", READINESS, "okey.test.EchoService"]


async def serving(readiness: Readiness, name: str) -> bool:
    servicer: Any = readiness.servicer
    answer = await servicer.Check(health_pb2.HealthCheckRequest(service=name), None)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


@pytest.fixture
async def readiness() -> Readiness:
    readiness = Readiness(["okey.test.EchoService"])
    await readiness.announce()
    return readiness


@pytest.mark.parametrize("name", READY_NAMES)
async def test_a_service_is_ready_from_its_start_to_its_stop(
    readiness: Readiness, name: str
) -> None:
    assert not await serving(readiness, name)
    await readiness.started()
    assert await serving(readiness, name)
    await readiness.stopping()
    assert not await serving(readiness, name)


@pytest.mark.parametrize("name", READY_NAMES)
async def test_a_service_is_ready_again_when_the_last_reason_is_gone(
    readiness: Readiness, name: str
) -> None:
    await readiness.started()
    await readiness.block("database")
    await readiness.block("lease")
    await readiness.unblock("database")
    assert not await serving(readiness, name)
    assert readiness.reasons == {"lease"}
    await readiness.unblock("lease")
    assert await serving(readiness, name)


async def test_a_service_that_is_not_ready_is_alive_all_the_same(readiness: Readiness) -> None:
    assert await serving(readiness, LIVENESS)
    await readiness.stopping()
    assert await serving(readiness, LIVENESS)
