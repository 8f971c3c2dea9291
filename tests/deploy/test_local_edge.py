"""``make edge``: Envoy before a platform of this machine, as it is deployed before a cluster."""

import asyncio
import sys
from pathlib import Path

import grpc
import pytest

from okey.api.wallet.v1 import wallet_pb2, wallet_pb2_grpc
from okey_runtime.allowlist import HOMES
from services.okeyctl.demo.platform import StartedPlatform
from tests.deploy.edge import RunningEdge
from tests.deploy.manifests import ROOT
from tests.fixtures.valkey import free_port
from tools.edge import before

COMMAND = (sys.executable, "-m", "tools.edge")


@pytest.mark.system
@pytest.mark.timeout(120)
async def test_a_running_platform_is_reached_through_it(tmp_path: Path) -> None:
    async with StartedPlatform(tmp_path) as platform:
        port = free_port()
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, "--data-dir", str(platform.data_dir), "--port", str(port)), cwd=ROOT
        )
        edge = RunningEdge(before(platform.state, port), process)
        try:
            await edge.sees(dict.fromkeys(HOMES, 1))
            token = platform.operator("wallet").token
            async with grpc.aio.insecure_channel(edge.address) as channel:
                account = await wallet_pb2_grpc.WalletServiceStub(channel).GetAccount(
                    wallet_pb2.GetAccountRequest(account="system:issuance"), metadata=token()
                )
        finally:
            process.terminate()
            await process.wait()

    assert account.account == "system:issuance"


async def test_without_a_platform_it_says_so(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "--data-dir", str(tmp_path)), cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()

    assert process.returncode == 2
    assert b"no platform runs" in said
