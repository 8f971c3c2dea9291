"""A person at a browser: everything is done by what the page shows, nothing behind its back."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, Self

import orjson
from playwright.async_api import Browser, Locator, Page, ViewportSize, WebSocket, expect

from tests.browser.browsing import PATIENCE_MS, SCREENSHOTS

DESKTOP: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
SHORT_PHONE: Final = ViewportSize(width=375, height=553)
SMALL_PHONE: Final = ViewportSize(width=320, height=568)
PHONE_ON_ITS_SIDE: Final = ViewportSize(width=844, height=390)
# More turns than any round has: 76 tiles of stock, and the piles.
_MOST_TURNS: Final = 120
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Player:
    """One browser tab with an identity of its own.

    ``frames`` are all that the WebSocket brought, ``problems`` what the browser complained about.
    """

    page: Page
    url: str
    name: str
    frames: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @classmethod
    async def come(
        cls,
        browser: Browser,
        url: str,
        name: str,
        locale: str = "en-GB",
        script: str = "",
        **options: Any,
    ) -> Self:
        """Open the page in a new context and sign in as a guest; tiles fly only if asked to.

        ``script`` runs in the page before it does.
        """
        options.setdefault("viewport", DESKTOP)
        options.setdefault("reduced_motion", "reduce")
        context = await browser.new_context(locale=locale, **options)
        context.set_default_timeout(PATIENCE_MS)
        await context.add_init_script(script)
        player = cls(await context.new_page(), url, name)
        player._listen()
        await player.page.goto(url)
        await player.page.get_by_role("textbox").fill(name)
        await player.page.get_by_role("textbox").press("Enter")
        await player.page.wait_for_selector(".lobby")
        return player

    def _listen(self) -> None:
        self.page.on("websocket", self._connected)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on(
            "console",
            lambda line: (
                self.problems.append(line.text)
                if "Content Security Policy" in line.text or "Content-Security-Policy" in line.text
                else None
            ),
        )

    def _connected(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.frames.append(orjson.loads(frame)))

    async def leave(self) -> None:
        """Close the browser's window."""
        await self.page.context.close()

    async def shoot(self, name: str) -> None:
        """A picture for people to look at."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    async def make_table(self, kind: str, **chosen: str | bool) -> str:
        """Fill in one of the lobby's forms (``create`` or ``solo``); the table's id."""
        chosen = {"turn": "120000", **chosen}
        await self.page.click(f"[data-do={kind}]")
        for name, value in chosen.items():
            one = self.page.locator(f"form.play-form [name={name}]")
            if isinstance(value, bool):
                await one.set_checked(value)
            elif name == "stake":
                await one.fill(value)
            else:
                await one.select_option(value)
        await self.page.click("form.play-form [type=submit]")
        await self.page.wait_for_selector(".table-screen")
        return self.page.url.rsplit("/", 1)[-1]

    async def join(self, table_id: str) -> None:
        """Sit down at a table of the list."""
        await self.page.click(f"[data-do=join][data-table='{table_id}']")
        await self.page.wait_for_selector(".table-screen")

    @property
    def actions(self) -> Locator:
        """The buttons of the own turn."""
        return self.page.locator(".turn-actions")

    @property
    def tiles(self) -> Locator:
        """The own tiles, as they lie."""
        return self.page.locator("#rack .tile")

    @property
    def result(self) -> Locator:
        """The dialog that tells how it ended."""
        return self.page.locator("#dialog[open] .result")

    async def wait_for_turn(self) -> bool:
        """Whether it is the own turn now; False once the round is over."""
        await self.page.wait_for_selector(".is-own-turn .rack, #dialog[open] .result")
        return not await self.result.is_visible()

    async def choose_language(self, code: str) -> None:
        """Through the menu."""
        await self.page.click("[data-do=openMenu]")
        await self.page.click(f"#dialog [data-do=language][data-language={code}]")
        await self.page.keyboard.press("Escape")
        await expect(self.page.locator("html")).to_have_attribute("lang", code)

    async def give_up(self) -> str:
        """Give the match up, and go to the lobby; the words that named the price first."""
        await self.page.click("[data-do=askForfeit]")
        words = await self.page.locator("#dialog .question").inner_text()
        await self.page.click("#dialog [data-do=forfeit]")
        await expect(self.page.locator("[data-do=askForfeit]")).to_have_count(0)
        await self.to_lobby()
        return words

    async def to_lobby(self) -> None:
        """Away from the table, by its bar."""
        await self.page.keyboard.press("Escape")
        await self.page.click(".table-bar [data-do=toLobby]")
        await self.page.wait_for_selector(".lobby")

    async def holds_gosterge(self) -> bool:
        """Whether the other copy of the gösterge lies on the own rack."""
        face = await self.page.locator(".gosterge .tile").get_attribute("aria-label")
        return await self.page.locator(f"#rack .tile[aria-label^='{face},']").count() > 0

    async def show_gosterge(self) -> bool:
        """Show the second gösterge where the page offers it."""
        button = self.actions.locator("[data-do=showGosterge]")
        if not await button.count():
            return False
        await button.click()
        await expect(button).to_have_count(0)
        return True

    async def is_match_going_on(self) -> bool:
        """After a round: whether another one follows, which has begun then."""
        dialog = "document.getElementById('dialog')"
        await self.page.wait_for_function(
            f"() => {dialog}.querySelector('.figures') || !{dialog}.open"
        )
        return not await self.page.locator("#dialog[open] .figures").count()

    async def draw(self) -> None:
        """Draw from the stock where a draw is due."""
        button = self.actions.locator("[data-do=drawStock]")
        if await button.count():
            await button.click()
            await expect(self.tiles).to_have_count(15)

    async def draw_by_touch(self) -> None:
        """Tap the stock where a draw is due."""
        if await self.tiles.count() == 14:
            await self.page.locator(".stock").tap()
        await expect(self.tiles).to_have_count(15)

    async def sort(self) -> bool:
        """Sort by melds; whether the page says that the hand can finish."""
        await self.page.click("[data-do=arrange][data-how=best]")
        missing = self.page.locator(".hint[data-missing]")
        return await missing.get_attribute("data-missing") == "0"

    async def discard_last(self) -> None:
        """Discard what the sorting put last, but never an okey."""
        tile = self.page.locator("#rack .tile:not(.is-okey)").last
        await tile.click()
        await self.actions.locator("[data-do=discard]").click()
        await expect(self.tiles).not_to_have_count(15)  # none is left where the round ends by it

    async def finish(self) -> None:
        """Lay the tile that is marked as loose on the gösterge, or where that is an okey any other,
        for which the okey stands then: so that it is a plain win, and the kasa stands.
        """
        plain = self.page.locator("#rack .tile:not(.is-okey)")
        loose = self.page.locator("#rack .tile.is-loose:not(.is-okey)")
        await (loose if await loose.count() else plain).first.click()
        await self.page.click(".gosterge")
        await expect(self.result).to_be_visible()

    async def play_turn(self) -> None:
        """Draw, then finish or discard."""
        await self.draw()
        if await self.sort():
            await self.finish()
        else:
            await self.discard_last()

    async def play_round(self) -> None:
        """Play until the page shows how the round ended."""
        for _ in range(_MOST_TURNS):
            if not await self.wait_for_turn():
                return
            await self.play_turn()
        raise AssertionError("a round has fewer turns than this")

    async def pass_round(self) -> None:
        """Draw and discard until the page shows how the round ended."""
        for _ in range(_MOST_TURNS):
            if not await self.wait_for_turn():
                return
            await self.draw()
            await self.discard_last()
        raise AssertionError("a round has fewer turns than this")


async def play_round(*players: Player) -> None:
    """All play until the round is over."""
    await asyncio.gather(*(player.play_round() for player in players))
