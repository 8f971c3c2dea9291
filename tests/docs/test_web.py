"""The JavaScript example: gRPC-Web through Envoy, as it is deployed, to a running platform."""

import asyncio
import os
import shutil
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from okey_runtime.allowlist import HOMES
from services.okeyctl.demo.platform import StartedPlatform
from tests.deploy.edge import local_edge, running
from tests.docs.blocks import ROOT
from tools.edge import before

NODE = shutil.which("node")
EXAMPLE = ROOT / "examples" / "web" / "first_table.js"


@pytest.mark.system
@pytest.mark.skipif(NODE is None, reason="NOT CHECKED: node is missing: apt-get install nodejs")
async def test_the_javascript_client_makes_watches_and_leaves_a_table(
    platform: StartedPlatform, tmp_path: Path
) -> None:
    assert NODE is not None
    services = {name: [platform.state.address(name)] for name in HOMES}
    async with running(local_edge(services), tmp_path) as edge:
        await edge.sees(dict.fromkeys(HOMES, 1))
        process = await asyncio.create_subprocess_exec(
            *(NODE, str(EXAMPLE)),
            env={
                **os.environ,
                "EDGE": f"http://{edge.address}",
                "TOKEN": platform.token("web"),
            },
            stdout=PIPE,
            stderr=STDOUT,
        )
        told, _ = await process.communicate()
    table, *rest = told.decode().splitlines()
    assert table.startswith("table "), told.decode()
    assert rest == ["phase PHASE_WAITING", "a second table: ALREADY_SEATED", "left"]


@pytest.mark.system
async def test_the_edge_of_the_examples_finds_every_service(platform: StartedPlatform) -> None:
    edge = before(platform.state, 8080)
    assert (edge.listen.port, edge.telemetry.port, edge.admin_port) == (8080, 8081, 8082)
    for name, [address] in edge.services.items():
        assert f"{address.host}:{address.port}" == platform.state.address(name)
