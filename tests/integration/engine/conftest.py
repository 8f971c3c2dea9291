"""Fixtures of the engine's integration tests."""

from tests.fixtures.postgres import postgres_server, postgres_url
from tests.integration.engine.service import world

__all__ = ["postgres_server", "postgres_url", "world"]
