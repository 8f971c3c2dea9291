"""The only place where the engine's parts meet."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc

from okey.api.engine.v1 import (
    engine_pb2_grpc,
    peer_pb2_grpc,
    players_pb2_grpc,
    revocations_pb2_grpc,
)
from okey.api.events.v1 import events_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.audiences import PEER
from okey_runtime.checks import peer_check, tell_database
from okey_runtime.database import Database
from okey_runtime.logging import get_logger
from okey_runtime.migrations import check_schema, migrate
from okey_runtime.patience import until_there
from okey_runtime.revocation_feed import RevocationFeed, follow_revocations
from okey_runtime.server import ServiceServer
from services.engine import (
    event_servicer,
    operator_servicer,
    peer_servicer,
    player_servicer,
    revocation_servicer,
    servicer,
)
from services.engine.ai import AiSeats, BotWorkers
from services.engine.archive import Archive
from services.engine.archiving import Archiving
from services.engine.event_servicer import EventServicer, Pace
from services.engine.everywhere import Everywhere
from services.engine.feed import FedStore, Feed
from services.engine.forwarding import Forwarding
from services.engine.group_commit import GroupCommit
from services.engine.here import Here
from services.engine.interventions import Interventions
from services.engine.invite_store import InviteStore
from services.engine.invites import Invites
from services.engine.journal import Journal
from services.engine.leased import ready_while_leased
from services.engine.members import Members, Myself
from services.engine.money_events import MoneyEvents
from services.engine.operator_servicer import OperatorServicer
from services.engine.operators import Operators
from services.engine.ownership import Ownership
from services.engine.peer_servicer import PeerServicer
from services.engine.peers import Peers
from services.engine.player_servicer import PlayerDataServicer
from services.engine.players import Players
from services.engine.rating_sink import RatingSink
from services.engine.record import EventKinds
from services.engine.recovery import Recovery
from services.engine.revocation_servicer import RevocationServicer
from services.engine.revocations import RevocationList, TokenLife
from services.engine.routes import Routes
from services.engine.servicer import TableServicer
from services.engine.sessions import Sessions
from services.engine.settings import EngineSettings
from services.engine.sharing import Sharing
from services.engine.shedding import Limits, Shedding
from services.engine.snapshots import Snapshots
from services.engine.standstill import Standstill, WatchedStore
from services.engine.status import tell_engine
from services.engine.steady_clock import SteadyClock, common_clock
from services.engine.stores import Stores
from services.engine.summaries import Summaries
from services.engine.tables import Tables
from services.engine.voiding import Voiding
from services.engine.wallet_sink import WalletSink

# Engines wait for one another's commits (ADR 13): one that is paused half-way must not stop all.
_IDLE_MS: Final = 1_000

MIGRATIONS: Final = Path(__file__).with_name("migrations")
COMMIT_EVERY_MS: Final = 10

_log = get_logger(__name__)


class DatabaseUrlMissing(Exception):
    """Tables need a journal; set OKEY_DATABASE_URL."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is made before anything is served."""

    journal: Journal
    commit: GroupCommit
    standstill: Standstill
    feed: Feed
    ownership: Ownership
    tables: Tables
    interventions: Interventions
    sharing: Sharing
    voiding: Voiding
    money: MoneyEvents


class EngineApp:
    """The engine: a journal, an actor a table, and channels to wallet, rating and bots."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self._channels: list[grpc.aio.Channel] = []
        self._tables: Tables | None = None
        self._events: EventServicer | None = None
        self._sharing: Sharing | None = None
        self._peers: Peers | None = None
        self._revoked: RevocationFeed | None = None

    @property
    def settings(self) -> EngineSettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """Tables, operators, players' data, revoked tokens, events, other engines."""
        return (
            servicer.SERVICE,
            operator_servicer.SERVICE,
            player_servicer.SERVICE,
            revocation_servicer.SERVICE,
            event_servicer.SERVICE,
            peer_servicer.SERVICE,
        )

    @property
    def access(self) -> AccessTable:
        """Who may call what."""
        return (
            servicer.ACCESS
            | operator_servicer.ACCESS
            | player_servicer.ACCESS
            | revocation_servicer.ACCESS
            | event_servicer.ACCESS
            | peer_servicer.ACCESS
        )

    async def start(self, host: ServiceServer) -> None:
        """See to the schema, load every table that is not done, serve; a database that is away is
        waited for.

        Raises ``DatabaseUrlMissing``, ``ServiceTokenMissing`` or ``SchemaIsOlder``.
        """
        settings = self._settings
        if settings.database_url is None:
            raise DatabaseUrlMissing("no journal: set OKEY_DATABASE_URL")
        host.tokens.to(PEER)  # refused at once where there is none, whatever the database does
        url = settings.database_url
        have_schema = migrate if settings.migrates_itself else check_schema
        await until_there(lambda: have_schema(url, MIGRATIONS))
        self._database = Database(url, connections=settings.database_connections, idle_ms=_IDLE_MS)
        membership = Members(self._database, settings.lease_ms)
        clock = await until_there(lambda: common_clock(host.clock, membership.now_ms))
        parts = self._parts(host, self._database, membership, clock)
        self._tables, self._sharing = parts.tables, parts.sharing
        host.spawn(parts.commit.run(), "group-commit")
        host.spawn(parts.tables.timers.run(), "timers")
        host.spawn(_load_once_reached(host, parts.tables.recovery), "loading")
        host.spawn(parts.standstill.run(), "standstill")
        count = await until_there(parts.sharing.join)
        _log.info("tables_found", count=count)
        host.spawn(parts.sharing.run(), "sharing")
        host.spawn(ready_while_leased(parts.ownership, clock, host.readiness), "readiness")
        archiving = Archiving(Archive(self._database), clock, settings.archive_after_ms)
        host.spawn(archiving.run(), "archiving")
        self._serve(host, parts, clock, Routes(membership, clock, parts.sharing.look))
        assert self._revoked is not None, "it is served"
        await until_there(self._revoked.catch_up)
        tell_engine(
            host.status, settings.engine_name, parts.tables, parts.standstill, parts.journal.seals
        )
        tell_database(host.status, self._database, url, host.clock, MIGRATIONS)
        for name, address in settings.called().items():
            look = peer_check(self._open(host, address, name), address, host.clock)
            host.status.check(name, look)

    def _parts(
        self, host: ServiceServer, database: Database, membership: Members, clock: SteadyClock
    ) -> "_Parts":
        """What tables are made of, and this engine's share of them."""
        settings = self._settings
        kinds = EventKinds(frozenset(filter(None, settings.events_off.split(","))))
        seals = settings.seals()
        journal = Journal(database, settings.engine_name, kinds, seals)
        operators = Operators(database)
        standstill = Standstill(clock, settings.stall_ms)
        feed = Feed(database, clock, seals)
        store = FedStore(WatchedStore(journal, standstill), feed)
        commit = GroupCommit(store, clock, every_ms=COMMIT_EVERY_MS)
        wallet = WalletSink(self._open(host, settings.wallet_address, "wallet"))
        ownership = Ownership(settings.engine_name, clock, settings.lease_ms, kinds, seals)
        bots = BotWorkers(self._open(host, settings.bots_address, "bots"))
        pace_ms = settings.hurried_ms(settings.bot_pace_ms)
        tables = Tables(
            Stores(journal, Snapshots(database, seals), operators, settings.snapshot_every_rows),
            commit,
            clock,
            [wallet, RatingSink(self._open(host, settings.rating_address, "rating"))],
            AiSeats(bots, clock, pace_ms, settings.bot_timeout_ms),
            ownership,
            standstill,
        )
        peers = self._peers = Peers(
            host.tokens.to(PEER),
            lambda address, own: host.dial(address, own, tls_name=settings.tls_engine_name),
        )
        me = Myself(settings.engine_name, host.address, secrets.token_hex(16), kinds.known)
        sharing = Sharing(
            membership,
            me,
            ownership,
            tables,
            clock,
            standstill,
            peers,
            settings.renew_ms,
            lambda: host.is_serving,
        )
        interventions = Interventions(tables, journal, operators, clock)
        voiding = Voiding(interventions, journal, operators, wallet, clock)
        money = MoneyEvents(journal, operators)
        return _Parts(
            journal,
            commit,
            standstill,
            feed,
            ownership,
            tables,
            interventions,
            sharing,
            voiding,
            money,
        )

    def _serve(
        self, host: ServiceServer, parts: "_Parts", clock: SteadyClock, routes: Routes
    ) -> None:
        """Register the servicers."""
        assert self._peers is not None, "they were made"
        assert self._database is not None, "it was opened"
        name, sharing = self._settings.engine_name, parts.sharing
        tables, journal, peers = parts.tables, parts.journal, self._peers
        forwarding = Forwarding(parts.ownership, routes, peers)
        summaries = Summaries(tables, parts.ownership, clock)
        everywhere = Everywhere(name, journal, routes, peers, summaries.page)
        here = Here(name, tables, journal, sharing, everywhere, peers, host.readiness, host.end)
        self._serve_players(host, parts, clock, routes, forwarding)
        engine_pb2_grpc.add_OperatorServiceServicer_to_server(
            OperatorServicer(
                tables,
                parts.interventions,
                parts.voiding,
                parts.money,
                everywhere,
                here,
                forwarding,
            ),
            host.grpc,
        )
        peer_pb2_grpc.add_PeerServiceServicer_to_server(
            PeerServicer(tables, sharing, here, summaries), host.grpc
        )
        players_pb2_grpc.add_PlayerDataServiceServicer_to_server(
            PlayerDataServicer(
                Players(self._database), tables, everywhere, self._revocations(host)
            ),
            host.grpc,
        )

    def _serve_players(
        self,
        host: ServiceServer,
        parts: "_Parts",
        clock: SteadyClock,
        routes: Routes,
        forwarding: Forwarding,
    ) -> None:
        """Register what players and integrators call, which is refused while there is too much."""
        assert self._database is not None, "it was opened"
        settings = self._settings
        limits = Limits(settings.shed_lag_ms, settings.shed_rows, settings.most_streams)
        shedding = Shedding(limits, parts.standstill, parts.commit)
        engine_pb2_grpc.add_TableServiceServicer_to_server(
            TableServicer(
                parts.tables,
                parts.journal,
                clock,
                settings,
                host.address,
                shedding,
                Invites(InviteStore(self._database), parts.tables.get, host.clock),
                routes,
                forwarding,
                host.revocations,
                self._sessions(host),
            ),
            host.grpc,
        )
        replay = Pace(settings.replay_rows_per_s, clock)
        self._events = EventServicer(parts.feed, clock, shedding, replay, host.revocations)
        events_pb2_grpc.add_EventServiceServicer_to_server(self._events, host.grpc)

    def _revocations(self, host: ServiceServer) -> RevocationList:
        """Serve the list of revoked tokens, and follow it."""
        assert self._database is not None, "it was opened"
        revoked = RevocationList(self._database, host.revocations, self._token_life(), host.clock)
        revocations_pb2_grpc.add_RevocationServiceServicer_to_server(
            RevocationServicer(revoked), host.grpc
        )
        self._revoked = follow_revocations(host, revoked.follow)
        return revoked

    def _sessions(self, host: ServiceServer) -> Sessions | None:
        if not self._settings.single_session:
            return None
        assert self._database is not None, "it was opened"
        return Sessions(self._database, host.revocations, self._token_life(), host.clock)

    def _token_life(self) -> TokenLife:
        settings = self._settings
        return TokenLife(settings.player_token_max_life_ms, settings.token_skew_ms)

    async def drain(self) -> None:
        """Hand every shard over; what nobody takes ends here, and the journal has everything."""
        if self._events is not None:
            self._events.stop()
        if self._sharing is not None:
            await self._sharing.leave()

    async def close(self) -> None:
        """Stop the tables, close channels and database."""
        if self._tables is not None:
            await self._tables.close()
        if self._peers is not None:
            await self._peers.close()
        await asyncio.gather(*(channel.close() for channel in self._channels))
        if self._database is not None:
            await self._database.close()

    def _open(self, host: ServiceServer, address: str, service: str) -> grpc.aio.Channel:
        channel = host.dial(address, host.tokens.to(service))
        self._channels.append(channel)
        return channel


async def _load_once_reached(host: ServiceServer, recovery: Recovery) -> None:
    """A table's clocks go on when it is loaded: not before its players can reach it."""
    await host.has_started.wait()
    await recovery.run()
