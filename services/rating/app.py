"""The only place where the rating service's parts meet."""

from collections.abc import Sequence
from pathlib import Path

from okey.api.rating.v1 import rating_pb2_grpc
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey_runtime.access import AccessTable
from okey_runtime.config import ServiceSettings
from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from okey_runtime.server import ServiceServer
from services.rating.servicer import ACCESS, SERVICE, RatingServicer
from services.rating.store import RatingStore

MIGRATIONS = Path(__file__).with_name("migrations")


class DatabaseUrlMissing(Exception):
    """Ratings need a database; set OKEY_DATABASE_URL."""


class RatingApp:
    """The rating service: one database, no background work; nothing to hand over at its end."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._database: Database | None = None

    @property
    def settings(self) -> ServiceSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """RatingService alone."""
        return (SERVICE,)

    @property
    def access(self) -> AccessTable:
        """Writes for the engine, reads for whoever shows ratings."""
        return ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Bring the schema up to date and serve it.

        Raises ``DatabaseUrlMissing`` or ``DatabaseAway``.
        """
        url = self._settings.database_url
        if url is None:
            raise DatabaseUrlMissing("no database for ratings: set OKEY_DATABASE_URL")
        await migrate(url, MIGRATIONS)
        self._database = Database(url)
        store = RatingStore(self._database, DEFAULT_RULE_SET)
        servicer = RatingServicer(store, DEFAULT_RULE_SET)
        rating_pb2_grpc.add_RatingServiceServicer_to_server(servicer, host.grpc)

    async def drain(self) -> None:
        """Nothing to hand over: every call is one transaction."""

    async def close(self) -> None:
        """Close the database once what is under way has ended."""
        if self._database is not None:
            await self._database.close()
