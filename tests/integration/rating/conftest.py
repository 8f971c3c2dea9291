"""What the rating service's tests share."""

from tests.fixtures.postgres import postgres_server, postgres_url
from tests.fixtures.ratings import rating_postgres, rating_template
from tests.integration.rating.calls import stub_of

__all__ = [
    "postgres_server",
    "postgres_url",
    "rating_postgres",
    "rating_template",
    "stub_of",
]
