"""What axe-core finds on every screen, light and dark."""

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ViewportSize, expect

from tests.browser.conftest import Come
from tests.browser.player import DESKTOP, PHONE, Player

pytestmark = pytest.mark.system

SERIOUS = ("serious", "critical")


async def findings(player: Player) -> list[tuple[str, str]]:
    """What is serious: the rule and the first thing that breaks it."""
    # Colours are looked at once nothing moves or fades any more.
    await player.page.evaluate(
        "() => Promise.all(document.getAnimations().map(one => one.finished.catch(() => null)))"
    )
    response: dict[str, Any] = (await Axe().run(player.page)).response
    return [
        (found["id"], found["nodes"][0]["html"] + found["nodes"][0]["failureSummary"])
        for found in response["violations"]
        if found["impact"] in SERIOUS
    ]


@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)], ids=["desktop", "phone"]
)
async def test_axe_finds_nothing_serious(come: Come, scheme: str, viewport: ViewportSize) -> None:
    """Lobby, forms, menu, table, question, fairness, account and leaderboard."""
    ayse = await come("Ayşe", color_scheme=scheme, viewport=viewport)
    page = ayse.page
    found: dict[str, list[tuple[str, str]]] = {"lobby": await findings(ayse)}
    for name in ("quick", "create", "openMenu"):
        await page.click(f"[data-do={name}]")
        found[name] = await findings(ayse)
        await page.keyboard.press("Escape")
    await page.click(".filters summary")
    found["filters"] = await findings(ayse)
    for name in ("toLeaders", "toAccount", "toLobby"):
        await page.click(f".tabs [data-do={name}]")
        await expect(page.locator(f".tabs [data-do={name}][aria-current]")).to_be_visible()
        found[name] = await findings(ayse)
    await ayse.make_table("solo", seats="4")
    await ayse.wait_for_turn()
    await ayse.draw()
    await page.locator("#rack .tile").last.click()
    found["table"] = await findings(ayse)
    for name in ("askForfeit", "openFairness"):
        await page.click(f".table-bar [data-do={name}]")
        found[name] = await findings(ayse)
        await page.keyboard.press("Escape")
    assert found == {name: [] for name in found}
