"""What all crash tests of a process share."""

from collections.abc import AsyncIterator

import pytest

from tests.failpoints.runs import Files, References, files_home, references
from tests.fixtures.postgres import postgres_server, postgres_url
from tests.fixtures.ratings import rating_template

__all__ = ["postgres_server", "postgres_url", "rating_template"]


@pytest.fixture(scope="session")
async def files() -> AsyncIterator[Files]:
    """Fresh SQLite databases for each run."""
    with files_home() as home:
        made = Files(home)
        await made.make()
        yield made


@pytest.fixture(scope="session")
async def crash_free(files: Files) -> References:
    """What every scenario comes to without a crash."""
    return await references(files.fresh)
