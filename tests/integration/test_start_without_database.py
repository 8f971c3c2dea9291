"""A service that starts while its database is away."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc

from okey_runtime.readiness import LIVENESS, READINESS
from okey_runtime.server import App, ServiceServer
from tests.fixtures.apps import WITH_DATABASE, app_of
from tests.fixtures.issuer import Issuer

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture(params=WITH_DATABASE)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> App:
    """Its database's folder is not there yet, so that nothing can be opened."""
    url = f"sqlite:///{tmp_path / 'later' / 'service.db'}"
    return app_of(request.param, Issuer(tmp_path), tmp_path, url)


async def health(app: App, name: str) -> int:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{app.settings.health_port}") as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
        return int(answer.status)


async def tried_in_vain(logged: list[structlog.typing.EventDict]) -> None:
    """Return once the database was asked twice."""
    while True:
        if [line["event"] for line in logged].count("database_failed") == 2:
            return
        await asyncio.sleep(0)


async def test_it_waits_alive_and_not_ready_then_serves(app: App, tmp_path: Path) -> None:
    server = ServiceServer(app)
    with structlog.testing.capture_logs() as logged:
        starting = asyncio.create_task(server.start())
        async with asyncio.timeout(20):
            await tried_in_vain(logged)
        assert not starting.done()
        assert await health(app, LIVENESS) == SERVING
        assert await health(app, READINESS) == NOT_SERVING
        (tmp_path / "later").mkdir()
        async with asyncio.timeout(20):
            await starting
        assert await health(app, READINESS) == SERVING
        await server.stop()
    said = [line["event"] for line in logged if line["log_level"] != "debug"]
    assert [event for event in said if event.startswith("database_")] == [
        "database_away",
        "database_back",
    ]
    assert not [line for line in logged if line["log_level"] in ("error", "critical")]
