"""A platform with a gateway, once for the tests of a module that leave it as it is."""

from collections.abc import AsyncIterator

import pytest

from okey_runtime.server import ServiceServer
from tests.fixtures.valkey import Valkey, valkey, valkey_server
from tests.integration.gateway.stand import Stand, stand

__all__ = ["valkey", "valkey_server"]


@pytest.fixture(scope="module")
async def world(
    tmp_path_factory: pytest.TempPathFactory, valkey_server: Valkey
) -> AsyncIterator[Stand]:
    """The platform, its tables a hundred times faster than people."""
    folder = tmp_path_factory.mktemp("world")
    valkey_server.empty()
    async with stand(folder, valkey_server.url) as running:
        yield running


@pytest.fixture
def gateway(world: Stand) -> ServiceServer:
    """The platform's gateway."""
    assert world.gateway is not None
    return world.gateway
