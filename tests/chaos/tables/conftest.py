"""Fixtures of the tables' chaos tests."""

from tests.chaos.tables.spoiling import history
from tests.fixtures.postgres import postgres_server, postgres_url

__all__ = ["history", "postgres_server", "postgres_url"]
