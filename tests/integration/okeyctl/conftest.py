"""What the tests of ``okeyctl`` share."""

from tests.fixtures.valkey import valkey, valkey_server
from tests.integration.lobby.small_lobby import lobby, ping_ms, redis_budget_ms, redis_url

__all__ = ["lobby", "ping_ms", "redis_budget_ms", "redis_url", "valkey", "valkey_server"]
