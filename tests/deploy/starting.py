"""A service started as its manifest says, but for what stands for the cluster: loopback ports, DNS
names, the databases' addresses.
"""

import asyncio
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from deploy.overlays.dev import tokens
from okey_runtime.clock import SystemClock
from okey_runtime.readiness import LIVENESS, READINESS
from okey_runtime.seal_keys import rotate_seal_keys
from tests.deploy.manifests import DEPLOY, Platform, build
from tests.fixtures.valkey import free_port

MOUNTED: Final = "/var/run/okey"
"""Where pods mount what they are given as files."""

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING


@dataclass(frozen=True)
class Start:
    """How to start one service, and where its ports will be."""

    command: tuple[str, ...]
    variables: dict[str, str]
    health: str
    metrics: str

    @classmethod
    def of(cls, service: str, mounted: str = MOUNTED) -> "Start":
        """As the dev overlay starts it, what it is given as files lying below ``mounted``."""
        platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
        workload = platform.workloads[service]
        health, metrics, closed = free_port(), free_port(), free_port()
        variables = {
            name: value.replace(MOUNTED, mounted)
            if not value.startswith("dns:///")
            else f"127.0.0.1:{closed}"
            for name, value in platform.environment(workload).items()
        }
        variables |= {
            "OKEY_LISTEN_HOST": "127.0.0.1",
            "OKEY_LISTEN_PORT": "0",
            "OKEY_HEALTH_PORT": str(health),
            "OKEY_METRICS_PORT": str(metrics),
            "OKEY_DRAIN_DELAY_MS": "0",
        }
        at = ("127.0.0.1:" + str(port) for port in (health, metrics))
        return cls(tuple(workload.container.command), variables, *at)

    async def until_ready(self) -> None:
        """Return once both health services say so on the probes' port."""
        await self._serves(LIVENESS)
        await self._serves(READINESS)

    async def metrics_page(self) -> bytes:
        """What Prometheus would get."""
        url = f"http://{self.metrics}/metrics"
        return await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read())

    async def _serves(self, name: str) -> None:
        async with grpc.aio.insecure_channel(self.health) as channel:
            request = health_pb2.HealthCheckRequest(service=name)
            watch = channel.unary_stream(
                "/grpc.health.v1.Health/Watch",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            async for answer in watch(request, wait_for_ready=True, timeout=60):
                if answer.status == _SERVING:
                    return
        raise AssertionError(f"{name} never served")


@dataclass(frozen=True)
class MigrationStart:
    """How to run the migration of one service, as its Job does."""

    command: tuple[str, ...]
    variables: dict[str, str]

    @classmethod
    def of(cls, service: str, mounted: str = MOUNTED) -> "MigrationStart":
        """As the dev overlay runs it, its secrets lying below ``mounted``."""
        platform = Platform.read(build(DEPLOY / "overlays" / "dev"))
        job = platform.workloads[f"{service}-migration"]
        variables = platform.environment(job)
        given = {name: value.replace(MOUNTED, mounted) for name, value in variables.items()}
        return cls(tuple(job.container.command), given)


def lay_out_secrets(folder: Path, database_url: str, redis_url: str) -> None:
    """What the Secrets hold, in the folders in which a pod mounts them."""
    made = tokens.secrets(tokens.cluster_key(), SystemClock())
    contents = {
        "jwks": made["okey-jwks"],
        "secrets": {
            "okey_database_url": database_url,
            # No role of its own here: the ledger's owner is who made the database.
            "okey_owner_database_url": database_url,
            "okey_redis_url": redis_url,
        },
        # One folder for all: the lobby's tokens, and the engine's where both call a service.
        "service-token": {**made["lobby-service-token"], **made["engine-service-token"]},
        "seal-keys": {},
    }
    for name, files in contents.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text)
    rotate_seal_keys(folder / "seal-keys" / "seal-keys")
