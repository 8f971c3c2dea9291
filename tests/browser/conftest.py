"""The platform as processes and a browser, started once for all tests here."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from playwright.async_api import Browser

from services.okeyctl.demo.platform import StartedPlatform
from tests.browser.browsing import CHROMIUM, chromium
from tests.browser.player import Player

CLOCK_FACTOR = 3

Come = Callable[..., Awaitable[Player]]


@pytest.fixture(scope="session")
async def platform(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StartedPlatform]:
    """Every service and the gateway; clocks run three times as fast."""
    async with StartedPlatform(tmp_path_factory.mktemp("browser"), CLOCK_FACTOR) as platform:
        yield platform


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium; each player has a context of its own in it."""
    if not CHROMIUM.exists():
        pytest.skip(
            "NOT CHECKED: the page is tried in no browser, chromium is missing: as root, "
            "apt-get install chromium"
        )
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def come(
    platform: StartedPlatform, browser: Browser, request: pytest.FixtureRequest
) -> AsyncIterator[Come]:
    """Players come to the page. In the end their browsers have complained about nothing; a picture
    of each is left behind.
    """
    url = platform.state.processes["gateway"].page_url
    players: list[Player] = []
    async with AsyncExitStack() as stack:

        async def come(name: str, **options: Any) -> Player:
            player = await Player.come(browser, url, name, **options)
            players.append(player)
            stack.push_async_callback(player.leave)
            return player

        yield come
        for player in players:
            await player.shoot(f"{request.node.name}-{player.name}-end")
        assert [player.problems for player in players] == [[] for _ in players]
