"""The only place where the rating service's parts meet."""

from collections.abc import Sequence
from pathlib import Path

import grpc

from okey.api.rating.v1 import rating_pb2_grpc
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SETS
from okey_runtime.access import AccessTable
from okey_runtime.checks import peer_check, tell_database
from okey_runtime.database import Database
from okey_runtime.migrations import check_schema, migrate
from okey_runtime.patience import until_there
from okey_runtime.revocation_feed import follow_from_engine
from okey_runtime.server import ServiceServer
from services.rating.rulebook import RuleBook
from services.rating.servicer import ACCESS, SERVICE, RatingServicer
from services.rating.settings import RatingSettings
from services.rating.store import RatingStore

MIGRATIONS = Path(__file__).with_name("migrations")


class DatabaseUrlMissing(Exception):
    """Ratings need a database; set OKEY_DATABASE_URL."""


class RatingApp:
    """The rating service: one database, any number of replicas."""

    def __init__(self, settings: RatingSettings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self._channel: grpc.aio.Channel | None = None

    @property
    def settings(self) -> RatingSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """RatingService alone."""
        return (SERVICE,)

    @property
    def access(self) -> AccessTable:
        """Writes for the engine, reads for whoever shows ratings, the rest for operators."""
        return ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Check the schema, or bring it up to date, and serve it; wait for a database that is
        unavailable.

        Raises ``DatabaseUrlMissing`` or ``SchemaIsOlder``.
        """
        url = self._settings.database_url
        if url is None:
            raise DatabaseUrlMissing("no database for ratings: set OKEY_DATABASE_URL")
        have_schema = migrate if self._settings.migrates_itself else check_schema
        await until_there(lambda: have_schema(url, MIGRATIONS))
        self._database = Database(url, connections=self._settings.database_connections)
        rules = RuleBook(DEFAULT_RULE_SET, RULE_SETS.values())
        store = RatingStore(self._database, rules)
        servicer = RatingServicer(store, rules, host.clock)
        rating_pb2_grpc.add_RatingServiceServicer_to_server(servicer, host.grpc)
        tell_database(host.status, self._database, url, host.clock, MIGRATIONS)
        self._call_engine(host)

    def _call_engine(self, host: ServiceServer) -> None:
        """Follow the list of revoked tokens, and see whether the engine answers."""
        address = self._settings.engine_address
        if address is not None and host.tokens.are_set:
            self._channel = host.dial(
                address, host.tokens.to("engine"), tls_name=self._settings.tls_engine_name
            )
            host.status.check("engine", peer_check(self._channel, address, host.clock))
        follow_from_engine(host, self._channel)

    async def drain(self) -> None:
        """Nothing to hand over: every call is one transaction."""

    async def close(self) -> None:
        """Close the connections once what is under way has ended."""
        if self._channel is not None:
            await self._channel.close()
        if self._database is not None:
            await self._database.close()
