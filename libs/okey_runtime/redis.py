"""Connections to Redis or Valkey with timeouts and bounded retries, so that an outage shows within
seconds, and a failover too: a server that is no primary any more loses all of a pool's connections.
"""

from typing import Any, Final

from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection
from redis.asyncio.connection import UnixDomainSocketConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import BusyLoadingError, MasterDownError, ReadOnlyError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

CONNECT_TIMEOUT_S: Final = 1.0
CALL_TIMEOUT_S: Final = 2.0
# Connecting and calling are each tried this often more, so a silent server costs four timeouts.
_RETRIES: Final = 1


def open_redis(url: SecretStr, *, max_connections: int = 32) -> Redis:
    """A client for ``redis://`` or ``rediss://`` URLs; answers are bytes; close it with
    ``aclose()``.

    A command is tried twice at most, so only repeatable commands belong on this client.
    Blocking reads need a timeout below ``CALL_TIMEOUT_S``. More commands at once than there are
    connections wait their turn.
    """
    return Redis.from_pool(pool_of(url, max_connections))


def pool_of(url: SecretStr, max_connections: int) -> BlockingConnectionPool:
    """The connections of such a client."""
    options: dict[str, Any] = dict(parse_url(url.get_secret_value()))
    kind = _ROLE_AWARE[options.pop("connection_class", Connection)]
    return BlockingConnectionPool(
        connection_class=kind,
        role=_Role(),
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=CALL_TIMEOUT_S,
        socket_keepalive=True,
        health_check_interval=15,
        max_connections=max_connections,
        timeout=CALL_TIMEOUT_S,
        retry=Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), _RETRIES),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
        **options,
    )


class RoleChanged(RedisConnectionError):
    """The server is not what it was: a replica, or one that only starts. Nothing was done; the name
    is asked again for the next try.
    """


class _Role:
    """How often the server of a pool's connections turned out to have another role."""

    def __init__(self) -> None:
        self.changes = 0


class _RoleAware:
    """Mixed into a connection: it is closed, as all others of its pool, once one of them has found
    out that its server has another role.
    """

    def __init__(self, *arguments: Any, role: _Role, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._role = role
        self._seen = role.changes

    async def _connect(self: Any) -> None:
        self._seen = self._role.changes
        await super()._connect()  # type: ignore[misc]

    async def connect(self: Any) -> None:
        """Connect or reconnect; the pool calls it before it hands the connection out."""
        if self.is_connected and self._seen != self._role.changes:
            await self.disconnect()
        await super().connect()  # type: ignore[misc]

    async def read_response(self: Any, *arguments: Any, **options: Any) -> Any:
        """The answer. Raises ``RoleChanged`` for one that only another role gives."""
        try:
            return await super().read_response(*arguments, **options)  # type: ignore[misc]
        except (ResponseError, BusyLoadingError) as error:
            if not _tells_of_role(error):
                raise
            if self._seen == self._role.changes:
                self._role.changes += 1
            raise RoleChanged(f"{type(error).__name__} {error}") from error


def _tells_of_role(error: Exception) -> bool:
    is_named = isinstance(error, ReadOnlyError | MasterDownError | BusyLoadingError)
    return is_named or str(error).startswith("UNBLOCKED")


class _RoleAwareConnection(_RoleAware, Connection):
    """Plain."""


class _RoleAwareTlsConnection(_RoleAware, SSLConnection):
    """Over TLS."""


class _RoleAwareSocketConnection(_RoleAware, UnixDomainSocketConnection):
    """Over a socket of the machine."""


_ROLE_AWARE: Final[dict[type, type]] = {
    Connection: _RoleAwareConnection,
    SSLConnection: _RoleAwareTlsConnection,
    UnixDomainSocketConnection: _RoleAwareSocketConnection,
}
