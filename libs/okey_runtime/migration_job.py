"""A process that migrates a database and ends: what a job runs before a release's services start.

It needs the database's URL and nothing else of the service's settings.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from pydantic import Field, SecretStr

from okey_runtime.environment import main_module
from okey_runtime.logging import LogFormat, configure_logging, get_logger
from okey_runtime.migrations import migrate
from okey_runtime.patience import until_there
from okey_runtime.production import GuardedSettings
from okey_runtime.schema import newest_schema

_log = get_logger(__name__)


class MigrationSettings(GuardedSettings):
    """Whose schema, and who owns it."""

    database_url: SecretStr
    """As the service itself is given it."""
    owner_database_url: SecretStr | None = None
    """PostgreSQL, as the role that owns the schema; by default the service's own role does."""
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    log_format: LogFormat = LogFormat.JSON


Migration: TypeAlias = Callable[[MigrationSettings], Awaitable[None]]


def run_job(migration: Migration, migrations: Path) -> None:
    """Run the migration, again while the database is away, and end the process.

    Status 0: done, or there was nothing to do. 1: it failed and nothing was changed; run it again.
    2: the settings cannot be used.
    """
    settings = MigrationSettings.load()
    configure_logging(main_module(), settings.log_level, settings.log_format)
    try:
        asyncio.run(_until_done(migration, settings))
    except Exception as error:
        _log.critical("migration_failed", exc_info=error)
        raise SystemExit(1) from error
    _log.info("migrated", newest=newest_schema(migrations))


def own_role_migrates(migrations: Path) -> Migration:
    """The migration of a service whose own role owns its schema."""

    async def migration(settings: MigrationSettings) -> None:
        await migrate(settings.owner_database_url or settings.database_url, migrations)

    return migration


async def _until_done(migration: Migration, settings: MigrationSettings) -> None:
    await until_there(lambda: migration(settings))
