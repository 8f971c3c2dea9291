"""Fixtures of the tables' chaos tests."""

from tests.fixtures.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
