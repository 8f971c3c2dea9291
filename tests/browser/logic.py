"""The page's modules without a platform: served from their folder, and called from Python."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, Page, Route

PAGE: Final = Path(__file__).parents[2] / "services" / "gateway" / "page"
_ORIGIN: Final = "http://localhost:1"
_TYPES: Final = {".js": "text/javascript", ".html": "text/html"}


class Modules:
    """The page's ES modules in a browser tab; ``await modules("core/deal.js", "m => m.x", 1)``."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def __call__(self, module: str, function: str, *given: Any) -> Any:
        """What ``function`` of the module and the given values answers."""
        call = f"async ([path, given]) => ({function})(await import(path), ...given)"
        return await self._page.evaluate(call, [f"/js/{module}", list(given)])


async def _serve(route: Route) -> None:
    path = route.request.url.removeprefix(_ORIGIN)
    if path == "/":
        await route.fulfill(body="<!doctype html>", content_type="text/html")
    else:
        file = PAGE / path.lstrip("/")
        await route.fulfill(body=file.read_text(), content_type=_TYPES[file.suffix])


@asynccontextmanager
async def modules_of_the_page(browser: Browser) -> AsyncIterator[Modules]:
    """A tab of its own that reads the page's files."""
    page = await browser.new_page()
    await page.route("**/*", _serve)
    await page.goto(_ORIGIN + "/")
    try:
        yield Modules(page)
    finally:
        await page.close()
