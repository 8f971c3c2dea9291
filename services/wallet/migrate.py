"""Migrate as the schema's owner and end: ``python -m services.wallet.migrate``, for a job that runs
before the service, which then needs no password but its own (``OKEY_OWNER_DATABASE_URL`` for the
owner, ``OKEY_DATABASE_URL`` for the service's role).
"""

from okey_runtime.migration_job import MigrationSettings, run_job
from services.wallet.app import MIGRATIONS, DatabaseUrlMissing, migrate_ledger


async def migration(settings: MigrationSettings) -> None:
    """Migrate and grant. Raises ``DatabaseUrlMissing`` unless both URLs are set."""
    if settings.owner_database_url is None:
        raise DatabaseUrlMissing("set OKEY_OWNER_DATABASE_URL, who owns the ledger's schema")
    await migrate_ledger(settings.owner_database_url, settings.database_url)


def main() -> None:
    """Run the job."""
    run_job(migration, MIGRATIONS)


if __name__ == "__main__":
    main()
