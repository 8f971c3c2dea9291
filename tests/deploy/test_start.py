"""Each service really starts from its manifest: command, settings and secrets as its pod gets
them.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.deploy.code import SERVICES
from tests.deploy.manifests import ROOT
from tests.deploy.starting import Start, lay_out_secrets
from tests.fixtures.postgres import PostgresServer, postgres_server
from tests.fixtures.valkey import Valkey, valkey, valkey_server

__all__ = ["postgres_server", "valkey", "valkey_server"]

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]


@asynccontextmanager
async def started(start: Start) -> AsyncIterator[asyncio.subprocess.Process]:
    """The service as a process of its own; killed at the end if it still runs."""
    program, *arguments = start.command
    assert program == "python"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env={**start.variables, "PATH": os.environ["PATH"]},
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


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
    start = Start.of(service, str(tmp_path))

    async with started(start) as process:
        await start.until_ready()
        page = await start.metrics_page()
        process.terminate()
        status = await process.wait()

    assert b"okey_event_loop_lag_seconds" in page
    assert (b"okey_engine_tables" in page) == (service == "engine")
    assert status == 0
