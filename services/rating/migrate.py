"""Migrate the database and end: ``python -m services.rating.migrate``, for a job that runs before a
release's services (``OKEY_DATABASE_URL``).
"""

from okey_runtime.migration_job import own_role_migrates, run_job
from services.rating.app import MIGRATIONS


def main() -> None:
    """Run the job."""
    run_job(own_role_migrates(MIGRATIONS), MIGRATIONS)


if __name__ == "__main__":
    main()
