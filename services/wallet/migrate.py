"""Migrate as the schema's owner and end: ``python -m services.wallet.migrate``, for a job that runs
before the service, which then needs no password but its own (``OKEY_OWNER_DATABASE_URL`` for the
owner, ``OKEY_DATABASE_URL`` for the service's role).
"""

import asyncio

from services.wallet.app import DatabaseUrlMissing, WalletSettings, migrate_ledger


def main() -> None:
    """Migrate and grant. Raises ``DatabaseUrlMissing`` unless both URLs are set."""
    settings = WalletSettings.load()
    if settings.owner_database_url is None or settings.database_url is None:
        raise DatabaseUrlMissing("set OKEY_OWNER_DATABASE_URL and OKEY_DATABASE_URL")
    asyncio.run(migrate_ledger(settings.owner_database_url, settings.database_url))


if __name__ == "__main__":
    main()
