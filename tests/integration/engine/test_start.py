"""An engine that starts while its database is away."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc

from okey_runtime.config import Environment
from okey_runtime.identity import Role
from okey_runtime.readiness import LIVENESS, READINESS
from okey_runtime.server import ServiceServer
from services.engine.app import EngineApp
from services.engine.settings import EngineSettings
from tests.fixtures.issuer import Issuer
from tests.fixtures.valkey import free_port

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def settings(tmp_path: Path) -> EngineSettings:
    """Its database's folder is not there yet, so that nothing can be opened."""
    issuer = Issuer(tmp_path)
    return EngineSettings(
        environment=Environment.TEST,
        jwks_file=issuer.jwks_file,
        database_url=f"sqlite:///{tmp_path / 'later' / 'engine.db'}",
        service_token_file=issuer.service_token_file(tmp_path, Role.ENGINE),
        wallet_address="127.0.0.1:1",
        rating_address="127.0.0.1:1",
        bots_address="127.0.0.1:1",
        health_port=free_port(),
        stop_grace_ms=0,
    )


async def health(settings: EngineSettings, name: str) -> int:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{settings.health_port}") as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
        return int(answer.status)


async def tried_in_vain(logged: list[structlog.typing.EventDict]) -> None:
    """Return once the database was asked twice."""
    while True:
        if [line["event"] for line in logged].count("database_failed") == 2:
            return
        await asyncio.sleep(0)


async def test_it_waits_alive_and_not_ready_then_serves(
    settings: EngineSettings, tmp_path: Path
) -> None:
    server = ServiceServer(EngineApp(settings))
    with structlog.testing.capture_logs() as logged:
        starting = asyncio.create_task(server.start())
        async with asyncio.timeout(20):
            await tried_in_vain(logged)
        assert not starting.done()
        assert await health(settings, LIVENESS) == SERVING
        assert await health(settings, READINESS) == NOT_SERVING
        (tmp_path / "later").mkdir()
        async with asyncio.timeout(20):
            await starting
        assert await health(settings, READINESS) == SERVING
        await server.stop()
    levels = ("warning", "error", "critical")
    assert [line["event"] for line in logged if line["log_level"] in levels] == ["database_away"]
    assert "database_back" in [line["event"] for line in logged]
