"""Services that do not migrate meet schemas that are not theirs: a release that comes before its
migration, and one that is rolled back after it.
"""

from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
import structlog
from sqlalchemy import Connection, text

from okey_runtime.database import Database, Isolation
from okey_runtime.migrations import migrate
from okey_runtime.schema import SchemaIsOlder, newest_schema
from okey_runtime.server import ServiceServer
from tests.fixtures.apps import WITH_DATABASE, app_of
from tests.fixtures.issuer import Issuer
from tests.fixtures.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

FILLED: Final = {"engine": "journal", "wallet": "journals", "rating": "records"}
"""A table of each that it writes to all the time."""

LATER: Final = "9999"


def scripts_of(service: str) -> Path:
    found: Path = import_module(f"services.{service}.app").MIGRATIONS
    return found


async def do(url: str, *statements: str) -> None:
    """Run the statements in one transaction."""

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    database = Database(url)
    await database.transact(work, Isolation.READ_COMMITTED)
    await database.close()


@pytest.mark.parametrize("service", WITH_DATABASE)
async def test_before_its_migration_it_does_not_start_and_says_what_to_run(
    service: str, tmp_path: Path, postgres_url: str
) -> None:
    app = app_of(service, Issuer(tmp_path), tmp_path, postgres_url, migrates=False)
    server = ServiceServer(app)

    with pytest.raises(SchemaIsOlder, match=rf"run python -m services\.{service}\.migrate"):
        await server.start()
    await server.stop()


@pytest.mark.parametrize("service", WITH_DATABASE)
async def test_rolled_back_after_a_migration_it_serves_and_says_so(
    service: str, tmp_path: Path, postgres_url: str
) -> None:
    await migrate(postgres_url, scripts_of(service))
    await do(
        postgres_url,
        f"ALTER TABLE {FILLED[service]} ADD COLUMN later TEXT",
        "CREATE TABLE later (id BIGINT PRIMARY KEY)",
        f"UPDATE alembic_version SET version_num = '{LATER}'",
    )

    app = app_of(service, Issuer(tmp_path), tmp_path, postgres_url, migrates=False)
    with structlog.testing.capture_logs() as logged:
        async with ServiceServer(app) as server:
            assert server.is_serving

    newer = [line for line in logged if line["event"] == "schema_is_newer"]
    assert [(line["schema"], line["knows"]) for line in newer] == [
        (LATER, newest_schema(scripts_of(service)))
    ]
    assert not [line for line in logged if line["log_level"] in ("error", "critical")]
