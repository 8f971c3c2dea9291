"""The platform as processes, started once for all tests here; each test has players of its own."""

from collections.abc import AsyncIterator

import pytest

from services.okeyctl.demo.platform import StartedPlatform
from tests.e2e.match import Tables

CLOCK_FACTOR = 5


@pytest.fixture(scope="session")
async def platform(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    """Every service, a Valkey, and standalone watching them."""
    folder = tmp_path_factory.mktemp("platform")
    async with StartedPlatform(folder, CLOCK_FACTOR) as platform:
        yield platform


@pytest.fixture
async def tables(platform: StartedPlatform) -> AsyncIterator[Tables]:
    """Sits players down; their clients are closed after the test."""
    async with Tables(platform) as tables:
        yield tables
