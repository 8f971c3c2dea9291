"""A disk that is really full: the database says so itself, and tables wait until it is not."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from structlog.testing import capture_logs

from okey_runtime import backoff
from okey_runtime.database import Work
from tests.failpoints.storm import Storm, storm_on
from tests.fixtures.postgres import PostgresServer

PAGE = 8_192


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.01)


async def until_refused(storm: Storm, state: str) -> None:
    """What is free already fills up first; then the log says why nothing goes."""
    with capture_logs() as logs:
        while await storm.moved(storm.tables[0]):
            pass
    assert state in [line.get("state") for line in logs]


async def require_all_move(storm: Storm) -> None:
    async with asyncio.timeout(30):
        for actor in storm.tables:
            while not await storm.moved(actor):
                pass
    assert not storm.world.tables.quarantine.tables


async def test_tables_outlive_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """U4: SQLite says that the disk is full, and later that it is not."""
    async with storm_on(tmp_path) as storm:
        await storm.world.database.transact(limit_pages(1))
        await until_refused(storm, "SQLITE_FULL")
        await storm.world.database.transact(limit_pages(1_000_000))
        await require_all_move(storm)


def limit_pages(most: int) -> Work[None]:
    """Limit the file to this many pages, or to those that it has."""
    return lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {most}").close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of sixteen MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    with tempfile.TemporaryDirectory(prefix="okey-disk-", dir="/tmp") as home:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", home], check=False
        )
        if mounted.returncode:
            pytest.skip("this machine mounts nothing")
        try:
            # The server runs as nobody where we are root.
            shutil.chown(home, "nobody")
            yield Path(home)
        finally:
            subprocess.run(["umount", "--lazy", home], check=True)


@pytest.mark.system
async def test_tables_outlive_a_full_file_system(
    small_disk: Path,
    postgres_server: PostgresServer,
    tmp_path: Path,
) -> None:
    """U4: PostgreSQL gives 53100 for its tables' own disk, until somebody makes room."""
    url = postgres_server.create_database("full")
    await on_server(url, f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    other = postgres_server.create_database()
    await on_server(other, 'ALTER DATABASE "full" SET TABLESPACE small')
    ballast = small_disk / "ballast"
    async with storm_on(tmp_path, url) as storm:
        fill(ballast)
        await until_refused(storm, "53100")
        ballast.unlink()
        await require_all_move(storm)
    await on_server(other, 'DROP DATABASE "full"', "DROP TABLESPACE small")


def fill(ballast: Path) -> None:
    """Take every page that is free."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            return


async def on_server(url: str, *statements: str) -> None:
    """Statements that no transaction may hold."""
    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()
