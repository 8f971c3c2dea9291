"""Fixtures of the cluster's chaos tests."""

from tests.fixtures.postgres import postgres_server, postgres_url
from tests.fixtures.valkey import valkey, valkey_server

__all__ = ["postgres_server", "postgres_url", "valkey", "valkey_server"]
