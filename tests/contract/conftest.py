"""Fixtures of the contract suites."""

from tests.contract.wallet_house import clock, play, wallet
from tests.fixtures.engine import engine_database, engine_url
from tests.fixtures.ledger import database, ledger_urls, postgres_ledger, sqlite_template
from tests.fixtures.postgres import postgres_server, postgres_url
from tests.fixtures.ratings import rating_postgres, rating_template

__all__ = [
    "clock",
    "database",
    "engine_database",
    "engine_url",
    "ledger_urls",
    "play",
    "postgres_ledger",
    "postgres_server",
    "postgres_url",
    "rating_postgres",
    "rating_template",
    "sqlite_template",
    "wallet",
]
