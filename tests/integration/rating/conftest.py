"""What the rating service's tests share."""

from tests.fixtures.postgres import postgres_server, postgres_url
from tests.fixtures.ratings import rating_postgres, rating_template
from tests.fixtures.valkey import failing_over, other_valkey_server, valkey, valkey_server
from tests.integration.rating.calls import stub_of

__all__ = [
    "failing_over",
    "other_valkey_server",
    "postgres_server",
    "postgres_url",
    "rating_postgres",
    "rating_template",
    "stub_of",
    "valkey",
    "valkey_server",
]
