"""The whole platform, once for the tests of a module that leave it as it is."""

from collections.abc import AsyncIterator

import pytest

from tests.fixtures.valkey import Valkey, valkey, valkey_server
from tests.security.stand import Everything, everything

__all__ = ["valkey", "valkey_server"]


@pytest.fixture(scope="module")
async def world(
    tmp_path_factory: pytest.TempPathFactory, valkey_server: Valkey
) -> AsyncIterator[Everything]:
    """The platform, its tables ten times faster than people."""
    folder = tmp_path_factory.mktemp("world")
    valkey_server.empty()
    async with everything(folder, valkey_server.url, clock_factor=10) as running:
        yield running
