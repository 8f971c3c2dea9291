"""The only place where the lobby's parts meet."""

import secrets
from collections.abc import Sequence
from typing import Final

import grpc
from redis.asyncio import Redis

from okey.api.lobby.v1 import lobby_pb2_grpc, operator_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.checks import peer_check, redis_check
from okey_runtime.revocation_feed import follow_from_engine
from okey_runtime.server import ServiceServer
from okey_runtime.shared_redis import SharedRedis
from services.lobby import (
    bot_bank,
    engine_seats,
    engine_tables,
    operator_servicer,
    player_ratings,
)
from services.lobby.asking import Asking
from services.lobby.bot_bank import BotBank
from services.lobby.engine_seats import EngineSeats
from services.lobby.engine_tables import EngineTables
from services.lobby.filling import Filling, ListedTables
from services.lobby.group_store import GroupStore
from services.lobby.limits import Limit, Limits
from services.lobby.list_watching import ListWatches
from services.lobby.matchmaker import Matchmaker
from services.lobby.operator_servicer import LobbyOperatorServicer
from services.lobby.player_ratings import RatingService
from services.lobby.seating import Seating
from services.lobby.servicer import ACCESS, SERVICE, LobbyServicer
from services.lobby.settings import LobbySettings
from services.lobby.table_list import TableList
from services.lobby.ticket_servicer import QuickMatch
from services.lobby.ticket_store import TicketStore
from services.lobby.ticket_watch import TicketWatch
from services.lobby.whereabouts import Whereabouts

MAX_CONNECTIONS: Final = 256
"""How many commands a replica may have with Redis at once."""


class LobbyNotConfigured(Exception):
    """A setting that the lobby needs is missing; the message names it."""


class LobbyApp:
    """The lobby: state in Redis, the truth in the engine; any number of replicas."""

    def __init__(self, settings: LobbySettings) -> None:
        self._settings = settings
        self._channels: list[grpc.aio.Channel] = []
        self._redis: Redis | None = None
        self._ticket_watch: TicketWatch | None = None
        self._matchmaker: Matchmaker | None = None
        self._watches: ListWatches | None = None

    @property
    def settings(self) -> LobbySettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """LobbyService, and LobbyOperatorService."""
        return (SERVICE, operator_servicer.SERVICE)

    @property
    def access(self) -> AccessTable:
        """Players, and operators for theirs."""
        return ACCESS | operator_servicer.ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Connect, serve, and begin to renew the list and to match tickets.

        A Redis that is away does not keep the lobby from starting: it pauses list and quick match.

        Raises:
            LobbyNotConfigured: no Redis.
            ServiceTokenMissing: no token of its own.
        """
        settings = self._settings
        if settings.redis_url is None:
            raise LobbyNotConfigured("the lobby needs OKEY_REDIS_URL")
        own = host.tokens.to
        address, name = settings.engine_address, settings.tls_engine_name
        again = engine_tables.IDEMPOTENT
        engine = EngineTables(
            self._keep(host.dial(address, own("engine"), again, tls_name=name)),
            self._keep(host.dial(address, None, again, tls_name=name)),
        )
        bank = BotBank(
            self._keep(host.dial(settings.wallet_address, own("wallet"), bot_bank.IDEMPOTENT))
        )
        self._redis = SharedRedis(
            settings.redis_url, host.clock, settings.redis_budget_ms, MAX_CONNECTIONS
        )
        tables = TableList(self._redis, engine, host.clock)
        self._watches = ListWatches(
            tables, host.clock, settings.most_list_watchers, host.revocations
        )
        limits = Limits(
            self._redis,
            host.clock,
            making=Limit(settings.tables_at_once, settings.table_every_ms),
            joining=Limit(settings.seats_at_once, settings.seat_every_ms),
        )
        quick_match = self._quick_match(self._redis, tables, bank, host)
        servicer = LobbyServicer(engine, bank, tables, self._watches, limits, quick_match)
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(servicer, host.grpc)
        operators = LobbyOperatorServicer(quick_match.tickets, quick_match.window, host.clock)
        operator_pb2_grpc.add_LobbyOperatorServiceServicer_to_server(operators, host.grpc)
        host.spawn(tables.run(), "table-list")
        follow_from_engine(host, self._keep(host.dial(address, own("engine"), tls_name=name)))
        host.status.check("redis", redis_check(self._redis))
        called = {
            "engine": (address, name),
            "wallet": (settings.wallet_address, ""),
            "rating": (settings.rating_address, ""),
        }
        for service, (where, tls_name) in called.items():
            channel = self._keep(host.dial(where, own(service), tls_name=tls_name))
            host.status.check(service, peer_check(channel, where, host.clock))

    async def drain(self) -> None:
        """End the streams, and seat the groups in hand; others take up what is left of them."""
        if self._ticket_watch is not None:
            self._ticket_watch.stop()
        if self._watches is not None:
            self._watches.end()
        if self._matchmaker is not None:
            await self._matchmaker.drain()

    async def close(self) -> None:
        """Close the connections."""
        for channel in self._channels:
            await channel.close()
        if self._redis is not None:
            await self._redis.aclose()

    def _quick_match(
        self,
        redis: Redis,
        tables: TableList,
        bank: BotBank,
        host: ServiceServer,
    ) -> QuickMatch:
        """Quick match and its background work."""
        settings, clock, own = self._settings, host.clock, host.tokens.to
        address, name = settings.engine_address, settings.tls_engine_name
        window = settings.rating_window()
        ratings = RatingService(
            self._keep(host.dial(settings.rating_address, own("rating"), player_ratings.IDEMPOTENT))
        )
        seats = EngineSeats(
            self._keep(host.dial(address, own("engine"), engine_seats.IDEMPOTENT, tls_name=name))
        )
        tickets = TicketStore(redis, clock)
        groups = GroupStore(redis, clock, secrets.token_hex(8))
        filling = Filling(ListedTables(tables), seats, ratings, tickets, window, clock)
        self._matchmaker = Matchmaker(
            groups, Seating(groups, seats, clock), filling, bank.is_open, window, clock
        )
        self._ticket_watch = TicketWatch(tickets, window, clock, host.revocations)
        host.spawn(self._matchmaker.run(), "matchmaker")
        host.spawn(self._matchmaker.keep(), "group-leases")
        host.spawn(self._ticket_watch.run(), "ticket-watch")
        whereabouts = Whereabouts(self._keep(host.dial(address, None, (), tls_name=name)))
        asking = Asking(whereabouts, ratings, tickets, clock)
        return QuickMatch(asking, tickets, self._ticket_watch, window, clock)

    def _keep(self, channel: grpc.aio.Channel) -> grpc.aio.Channel:
        """Close it in the end."""
        self._channels.append(channel)
        return channel
