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

from tests.deploy.births import read_by_people, unborn
from tests.deploy.code import KEEPERS, SERVICES
from tests.deploy.manifests import ROOT
from tests.deploy.starting import MigrationStart, Start, lay_out_secrets
from tests.fixtures.postgres import PostgresServer, postgres_server
from tests.fixtures.valkey import Valkey, valkey, valkey_server

__all__ = ["postgres_server", "valkey", "valkey_server"]

pytestmark = [pytest.mark.system, pytest.mark.timeout(60)]


@asynccontextmanager
async def started(start: Start | MigrationStart) -> AsyncIterator[asyncio.subprocess.Process]:
    """It as a process of its own; killed at the end if it still runs."""
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
    if service in KEEPERS:
        assert await status_of(MigrationStart.of(service, str(tmp_path))) == 0

    async with started(start) as process:
        await start.until_ready()
        page = await start.metrics_page()
        process.terminate()
        status = await process.wait()

    assert unborn(service, page.decode(), read_by_people()) == []
    assert b"okey_event_loop_lag_seconds" in page
    assert (b"okey_engine_tables" in page) == (service == "engine")
    assert status == 0


@pytest.mark.parametrize("service", KEEPERS)
async def test_service_does_not_start_before_its_migration(
    service: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: PostgresServer,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lay_out_secrets(tmp_path, postgres_server.create_database(), "redis://127.0.0.1:1/0")

    assert await status_of(Start.of(service, str(tmp_path))) == 1


async def status_of(start: Start | MigrationStart) -> int:
    """How it ends by itself."""
    async with started(start) as process:
        return await process.wait()
