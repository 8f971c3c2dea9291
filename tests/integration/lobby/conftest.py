"""What the lobby's tests share."""

from tests.fixtures.valkey import failing_over, other_valkey_server, valkey, valkey_server
from tests.integration.lobby.small_lobby import lobby, ping_ms, redis_budget_ms, redis_url

__all__ = [
    "failing_over",
    "lobby",
    "other_valkey_server",
    "ping_ms",
    "redis_budget_ms",
    "redis_url",
    "valkey",
    "valkey_server",
]
