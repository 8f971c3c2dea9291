"""The only place where the engine's parts meet."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import grpc

from okey.api.engine.v1 import engine_pb2_grpc
from okey.api.events.v1 import events_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.channel import open_channel
from okey_runtime.checks import peer_check, tell_database
from okey_runtime.database import Database
from okey_runtime.logging import get_logger
from okey_runtime.migrations import migrate
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider, ServiceToken
from services.engine import event_servicer, operator_servicer, peer_servicer, servicer
from services.engine.ai import AiSeats, BotWorkers
from services.engine.archive import Archive
from services.engine.archiving import Archiving
from services.engine.event_servicer import EventServicer
from services.engine.feed import FedStore, Feed
from services.engine.group_commit import GroupCommit
from services.engine.journal import Journal
from services.engine.money_events import MoneyEvents
from services.engine.operator_servicer import OperatorServicer
from services.engine.operators import Operators
from services.engine.patience import until_there
from services.engine.rating_sink import RatingSink
from services.engine.renewal import Renewal
from services.engine.servicer import TableServicer
from services.engine.settings import EngineSettings
from services.engine.shedding import Limits, Shedding
from services.engine.snapshots import Snapshots
from services.engine.standstill import Standstill, WatchedStore
from services.engine.status import tell_engine
from services.engine.steady_clock import SteadyClock
from services.engine.stores import Stores
from services.engine.tables import Tables
from services.engine.voiding import Voiding
from services.engine.wallet_sink import WalletSink

MIGRATIONS: Final = Path(__file__).with_name("migrations")

_log = get_logger(__name__)


class DatabaseUrlMissing(Exception):
    """Tables need a journal; set OKEY_DATABASE_URL."""


class ServiceTokenFileMissing(Exception):
    """The wallet and the rating service take calls from the engine only; set
    OKEY_SERVICE_TOKEN_FILE.
    """


class EngineApp:
    """The engine: a journal, an actor a table, and channels to wallet, rating and bots."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self._channels: list[grpc.aio.Channel] = []
        self._tables: Tables | None = None
        self._events: EventServicer | None = None

    @property
    def settings(self) -> EngineSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """Tables, operators, events."""
        return (
            servicer.SERVICE,
            operator_servicer.SERVICE,
            event_servicer.SERVICE,
            peer_servicer.SERVICE,
        )

    @property
    def access(self) -> AccessTable:
        """Who may call what."""
        return (
            servicer.ACCESS
            | operator_servicer.ACCESS
            | event_servicer.ACCESS
            | peer_servicer.ACCESS
        )

    async def start(self, host: ServiceServer) -> None:
        """Bring the schema up to date, load every table that is not done, serve; a database that
        is away is waited for.

        Raises ``DatabaseUrlMissing`` or ``ServiceTokenFileMissing``.
        """
        settings = self._settings
        if settings.database_url is None:
            raise DatabaseUrlMissing("no journal: set OKEY_DATABASE_URL")
        if settings.service_token_file is None:
            raise ServiceTokenFileMissing("no token of its own: set OKEY_SERVICE_TOKEN_FILE")
        url = settings.database_url
        await until_there(lambda: migrate(url, MIGRATIONS))
        self._database = Database(url)
        journal, clock = Journal(self._database), SteadyClock(host.clock)
        token = ServiceToken(settings.service_token_file)
        standstill = Standstill(clock, settings.stall_ms)
        feed = Feed(self._database, clock)
        store = FedStore(WatchedStore(journal, standstill), feed)
        commit = GroupCommit(store, clock)
        wallet = WalletSink(self._open(settings.wallet_address, token))
        operators = Operators(self._database)
        tables = self._tables = Tables(
            Stores(journal, Snapshots(self._database), operators, settings.snapshot_every_rows),
            commit,
            clock,
            [wallet, RatingSink(self._open(settings.rating_address, token))],
            AiSeats(
                BotWorkers(self._open(settings.bots_address, token)),
                clock,
                settings.hurried_ms(settings.bot_pace_ms),
                settings.bot_timeout_ms,
            ),
            settings.engine_name,
            standstill,
        )
        host.spawn(commit.run(), "group-commit")
        host.spawn(tables.timers.run(), "timers")
        count = await until_there(tables.recover)
        _log.info("tables_found", count=count)
        host.spawn(standstill.run(), "standstill")
        renewal = Renewal(journal, clock, standstill, tables, settings.engine_name, host.address)
        host.spawn(renewal.run(), "renewal")
        archiving = Archiving(Archive(self._database), clock, settings.archive_after_ms)
        host.spawn(archiving.run(), "archiving")
        limits = Limits(settings.shed_lag_ms, settings.shed_rows, settings.most_streams)
        shedding = Shedding(limits, standstill, commit)
        engine_pb2_grpc.add_TableServiceServicer_to_server(
            TableServicer(tables, journal, clock, settings, host.address, shedding), host.grpc
        )
        engine_pb2_grpc.add_OperatorServiceServicer_to_server(
            OperatorServicer(
                tables,
                Voiding(tables, journal, operators, wallet, clock),
                MoneyEvents(journal, operators),
                clock,
                host.readiness,
                settings.engine_name,
                host.address,
                host.end,
            ),
            host.grpc,
        )
        self._events = EventServicer(feed, clock, shedding)
        events_pb2_grpc.add_EventServiceServicer_to_server(self._events, host.grpc)
        tell_engine(host.status, settings.engine_name)
        tell_database(host.status, self._database, url, host.clock, MIGRATIONS)
        for name, address in settings.called().items():
            look = peer_check(self._open(address, token), address, host.clock)
            host.status.check(name, look)

    async def drain(self) -> None:
        """End every stream and take no more commands; the journal has everything."""
        if self._events is not None:
            self._events.stop()
        if self._tables is not None:
            self._tables.stop()

    async def close(self) -> None:
        """Stop the tables, close channels and database."""
        if self._tables is not None:
            await self._tables.close()
        await asyncio.gather(*(channel.close() for channel in self._channels))
        if self._database is not None:
            await self._database.close()

    def _open(self, address: str, token: MetadataProvider) -> grpc.aio.Channel:
        channel = open_channel(address, token=token)
        self._channels.append(channel)
        return channel
