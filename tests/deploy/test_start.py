"""Each service really starts from its manifest: command, settings and secrets as its pod gets them,
but for what stands for the cluster (loopback ports, DNS names, the databases' addresses).
"""

import asyncio
import os
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc
import pytest
from grpc_health.v1 import health_pb2

from deploy.overlays.dev import tokens
from okey_runtime.clock import SystemClock
from okey_runtime.dev_platform import make_dev_key
from okey_runtime.readiness import LIVENESS, READINESS
from tests.deploy.code import SERVICES
from tests.deploy.manifests import DEPLOY, ROOT, Platform, build
from tests.fixtures.postgres import PostgresServer, postgres_server
from tests.fixtures.valkey import Valkey, free_port, valkey, valkey_server

__all__ = ["postgres_server", "valkey", "valkey_server"]

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]

SERVING: Final = health_pb2.HealthCheckResponse.SERVING


@dataclass(frozen=True)
class Pod:
    """Where a started service's ports are, and its process."""

    process: asyncio.subprocess.Process
    health: str
    metrics: str


def lay_out_secrets(folder: Path, database_url: str, redis_url: str) -> None:
    """What the Secrets hold, in the folders in which a pod mounts them."""
    made = tokens.secrets(make_dev_key(), SystemClock())
    contents = {
        "jwks": made["okey-jwks"],
        "secrets": {"okey_database_url": database_url, "okey_redis_url": redis_url},
        "service-token": made["engine-service-token"],
    }
    for name, files in contents.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text)


@asynccontextmanager
async def started(service: str, secrets: Path) -> AsyncIterator[Pod]:
    """The service as a process of its own; killed at the end if it still runs."""
    platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
    workload = platform.workloads[service]
    health, metrics, closed = free_port(), free_port(), free_port()
    variables = {
        name: value.replace("/var/run/okey", str(secrets))
        if not value.startswith("dns:///")
        else f"127.0.0.1:{closed}"
        for name, value in platform.environment(workload).items()
    }
    variables |= {
        "PATH": os.environ["PATH"],
        "OKEY_LISTEN_HOST": "127.0.0.1",
        "OKEY_LISTEN_PORT": "0",
        "OKEY_HEALTH_PORT": str(health),
        "OKEY_METRICS_PORT": str(metrics),
        "OKEY_DRAIN_DELAY_MS": "0",
    }
    program, *arguments = workload.container.command
    assert program == "python"
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, env=variables, cwd=ROOT
    )
    try:
        yield Pod(process, f"127.0.0.1:{health}", f"127.0.0.1:{metrics}")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def serves(pod: Pod, name: str) -> None:
    """Return once the health service of that name says so on the probes' port."""
    async with grpc.aio.insecure_channel(pod.health) as channel:
        request = health_pb2.HealthCheckRequest(service=name)
        watch = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        async for answer in watch(request, wait_for_ready=True, timeout=30):
            if answer.status == SERVING:
                return
    raise AssertionError(f"{name} never served")


@pytest.mark.parametrize("service", SERVICES)
async def test_service_starts_from_its_manifest(
    service: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: PostgresServer,
    valkey: Valkey,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lay_out_secrets(tmp_path, postgres_server.create_database(), valkey.url.get_secret_value())

    async with started(service, tmp_path) as pod:
        await serves(pod, LIVENESS)
        await serves(pod, READINESS)
        page = await asyncio.to_thread(
            lambda: urllib.request.urlopen(f"http://{pod.metrics}/metrics", timeout=5).read()
        )
        pod.process.terminate()
        status = await pod.process.wait()

    assert b"okey_event_loop_lag_seconds" in page
    assert (b"okey_engine_tables" in page) == (service == "engine")
    assert status == 0
