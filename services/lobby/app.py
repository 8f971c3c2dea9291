"""The only place where the lobby's parts meet."""

from collections.abc import Iterable, Sequence

import grpc
from redis.asyncio import Redis

from okey.api.lobby.v1 import lobby_pb2_grpc
from okey_runtime.access import AccessTable
from okey_runtime.channel import open_channel
from okey_runtime.checks import peer_check, redis_check
from okey_runtime.redis import open_redis
from okey_runtime.server import ServiceServer
from okey_runtime.service_token import MetadataProvider, ServiceToken
from services.lobby import bot_bank, engine_tables
from services.lobby.bot_bank import BotBank
from services.lobby.engine_tables import EngineTables
from services.lobby.matchmaker import Matchmaker
from services.lobby.servicer import ACCESS, SERVICE, LobbyServicer
from services.lobby.settings import LobbySettings
from services.lobby.table_list import TableList
from services.lobby.ticket_store import TicketStore


class LobbyNotConfigured(Exception):
    """A setting that the lobby needs is missing; the message names it."""


class LobbyApp:
    """The lobby: state in Redis, the truth in the engine; any number of replicas."""

    def __init__(self, settings: LobbySettings) -> None:
        self._settings = settings
        self._channels: list[grpc.aio.Channel] = []
        self._redis: Redis | None = None
        self._servicer: LobbyServicer | None = None

    @property
    def settings(self) -> LobbySettings:
        """The service's settings."""
        return self._settings

    @property
    def services(self) -> Sequence[str]:
        """LobbyService alone."""
        return (SERVICE,)

    @property
    def access(self) -> AccessTable:
        """Players alone."""
        return ACCESS

    async def start(self, host: ServiceServer) -> None:
        """Connect, serve, and begin to renew the list and to match tickets.

        A Redis that is away does not keep the lobby from starting: it pauses list and quick match.

        Raises:
            LobbyNotConfigured: no Redis, or no service token.
        """
        settings = self._settings
        if settings.redis_url is None or settings.service_token_file is None:
            raise LobbyNotConfigured("the lobby needs OKEY_REDIS_URL and OKEY_SERVICE_TOKEN_FILE")
        own = ServiceToken(settings.service_token_file)
        engine = EngineTables(
            self._open(settings.engine_address, own, engine_tables.IDEMPOTENT),
            self._open(settings.engine_address, None, engine_tables.IDEMPOTENT),
        )
        bank = BotBank(self._open(settings.wallet_address, own, bot_bank.IDEMPOTENT))
        self._redis = open_redis(settings.redis_url)
        tables = TableList(self._redis, engine, host.clock)
        tickets = TicketStore(self._redis, host.clock)
        self._servicer = LobbyServicer(engine, bank, tables, tickets, host.clock)
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(self._servicer, host.grpc)
        host.spawn(tables.run(), "table-list")
        host.spawn(Matchmaker(tickets, tables, engine, host.clock).run(), "matchmaker")
        host.status.check("redis", redis_check(self._redis))
        called = {"engine": settings.engine_address, "wallet": settings.wallet_address}
        for name, address in called.items():
            channel = self._open(address, own, ())
            host.status.check(name, peer_check(channel, address, host.clock))

    async def drain(self) -> None:
        """End the streams; what is claimed and not seated comes back when its lease ends."""
        if self._servicer is not None:
            self._servicer.end_streams()

    async def close(self) -> None:
        """Close the connections."""
        for channel in self._channels:
            await channel.close()
        if self._redis is not None:
            await self._redis.aclose()

    def _open(
        self, address: str, token: MetadataProvider | None, idempotent: Iterable[str]
    ) -> grpc.aio.Channel:
        channel = open_channel(address, token=token, idempotent=idempotent)
        self._channels.append(channel)
        return channel
