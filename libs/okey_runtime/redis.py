"""Connections to Redis or Valkey with timeouts and bounded retries, so that an outage shows within
seconds.
"""

from typing import Final

from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
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
    return BlockingConnectionPool.from_url(
        url.get_secret_value(),
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=CALL_TIMEOUT_S,
        socket_keepalive=True,
        health_check_interval=15,
        max_connections=max_connections,
        timeout=CALL_TIMEOUT_S,
        retry=Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), _RETRIES),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
    )
