"""What the lobby's tests share."""

from tests.fixtures.valkey import valkey, valkey_server
from tests.integration.lobby.small_lobby import lobby

__all__ = ["lobby", "valkey", "valkey_server"]
