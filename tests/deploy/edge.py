"""A real Envoy before services of this machine, with the configuration that is deployed."""

import asyncio
import json
import sys
import urllib.error
import urllib.request
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from okey_runtime.allowlist import HOMES
from tests.fixtures.certificates import Files
from tests.fixtures.valkey import free_port
from tools.manifests.envoy import Edge, bootstrap
from tools.manifests.envoy_limits import DEFAULTS, Limits
from tools.manifests.envoy_parts import Address
from tools.manifests.envoy_tls import secrets

ENVOY: Final = Path(sys.executable).with_name("envoy")
_CLOSED: Final = "127.0.0.1:1"
_LOOK_EVERY_S: Final = 0.05


def local_edge(
    services: Mapping[str, Sequence[str]],
    folder: str = "",
    *,
    origins: Sequence[str] = (),
    limits: Limits = DEFAULTS,
) -> Edge:
    """At free ports of this machine, with a folder of secrets by TLS; a service that is not named
    is away.
    """
    return Edge(
        Address("127.0.0.1", free_port()),
        Address("127.0.0.1", free_port()),
        {name: [Address.of(each) for each in services.get(name, (_CLOSED,))] for name in HOMES},
        secrets=folder,
        admin_port=free_port(),
        origins=origins,
        limits=limits,
    )


async def validated(config: Path) -> str:
    """What Envoy says against a configuration; empty if nothing."""
    process = await asyncio.create_subprocess_exec(
        *(str(ENVOY), "--mode", "validate", "--log-level", "warning", "-c", str(config)),
        stdout=PIPE,
        stderr=STDOUT,
    )
    told, _ = await process.communicate()
    lines = told.decode().splitlines()
    return "" if lines == [f"configuration '{config}' OK"] else "\n".join(lines)


@dataclass(frozen=True)
class RunningEdge:
    """A running Envoy."""

    edge: Edge
    process: Process

    @property
    def address(self) -> str:
        """Where callers find it."""
        return f"{self.edge.listen.host}:{self.edge.listen.port}"

    async def telemetry(self, path: str) -> tuple[int, str]:
        """Status and body of a page of its telemetry's port; 0 where nobody answers."""
        at = self.edge.telemetry
        return await asyncio.to_thread(_page, f"http://{at.host}:{at.port}{path}")

    async def healthy(self, service: str) -> int:
        """How many replicas of the service it takes for ready."""
        _, metrics = await self.telemetry("/metrics")
        wanted = f'envoy_cluster_membership_healthy{{envoy_cluster_name="{service}"}}'
        return sum(
            int(float(line.rpartition(" ")[2]))
            for line in metrics.splitlines()
            if line.startswith(wanted)
        )

    async def sees(self, replicas: Mapping[str, int]) -> None:
        """Return once it takes so many replicas of each for ready."""
        while True:
            if {name: await self.healthy(name) for name in replicas} == dict(replicas):
                return
            await asyncio.sleep(_LOOK_EVERY_S)


@asynccontextmanager
async def running(edge: Edge, folder: Path) -> AsyncIterator[RunningEdge]:
    """Envoy with this configuration, from when it is ready until the block ends."""
    config = folder / "envoy.json"
    config.write_text(json.dumps(bootstrap(edge)))
    with (folder / "envoy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(str(ENVOY), "--log-level", "warning", "--concurrency", "1"),
            *("--disable-hot-restart", "-c", str(config)),
            stdout=log,
            stderr=log,
        )
    found = RunningEdge(edge, process)
    try:
        while True:
            if (await found.telemetry("/ready"))[0] == HTTPStatus.OK:
                break
            assert process.returncode is None, (folder / "envoy.log").read_text()
            await asyncio.sleep(_LOOK_EVERY_S)
        yield found
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _page(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def lay_out_certificates(folder: Path, files: Files) -> None:
    """One certificate for callers and for services, where ``folder`` is that of the secrets."""
    for name, file in (("tls.crt", files.cert), ("tls.key", files.key), ("ca.crt", files.ca)):
        (folder / name).write_bytes(file.read_bytes())
    for name, config in secrets(str(folder), str(folder)).items():
        (folder / name).write_text(json.dumps(config))
