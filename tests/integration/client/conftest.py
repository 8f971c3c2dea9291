"""What the client's tests share."""

from tests.fixtures.valkey import valkey, valkey_server

__all__ = ["valkey", "valkey_server"]
