"""Debian's Chromium, driven by Playwright; where screenshots go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, async_playwright

CHROMIUM: Final = Path("/usr/bin/chromium")
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREENSHOTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
# What a step of the page may take on a busy machine.
PATIENCE_MS: Final = 30_000


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a screen; it ends with us."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, headless=True
        )
        try:
            yield browser
        finally:
            await browser.close()
