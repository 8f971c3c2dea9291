"""What the page tells beside the game: the list of tables, chips and ratings."""

import pytest
from playwright.async_api import expect

from okey.api.common.v1 import common_pb2
from okey.api.lobby.v1 import lobby_pb2
from services.okeyctl.demo.platform import StartedPlatform
from tests.browser.conftest import Come
from tests.browser.player import Player

pytestmark = pytest.mark.system

TABLES = {
    "canak": lobby_pb2.TableTerms(seat_count=4, stake=50, turn_timeout_ms=120_000),
    "partners": lobby_pb2.TableTerms(
        mode=common_pb2.MODE_ESLI, seat_count=4, stake=5_000, turn_timeout_ms=60_000
    ),
    "klasik": lobby_pb2.TableTerms(
        variant=common_pb2.VARIANT_KLASIK,
        seat_count=2,
        stake=1_000,
        turn_timeout_ms=30_000,
        start_points=5,
    ),
}
# What each choice leaves of them.
FILTERS = [
    ("variant", "VARIANT_KLASIK", {"klasik"}),
    ("mode", "MODE_ESLI", {"partners"}),
    ("seats", "4", {"canak", "partners"}),
    ("stakes", "500-5000", {"klasik", "partners"}),
    ("speed", "30000-60000", {"canak"}),  # clocks run three times as fast: 40 s
]


async def test_the_list_is_filtered(come: Come, platform: StartedPlatform) -> None:
    """Each filter shows what fits it and nothing else; without it all are there again."""
    ids = {}
    for name, terms in TABLES.items():
        async with platform.client(f"makes-{name}") as client:
            ids[name] = await client.lobby.create_table(terms)
    ayse = await come("Ayşe")
    await require_shown(ayse, ids, set(TABLES))
    await ayse.page.click(".filters summary")
    for name, value, left in FILTERS:
        chooser = ayse.page.locator(f".filters [name={name}]")
        await chooser.select_option(value)
        await require_shown(ayse, ids, left)
        await chooser.select_option("")
        await require_shown(ayse, ids, set(TABLES))
    await ayse.page.locator(".filters [name=order]").select_option("TABLE_ORDER_HIGHEST_STAKE")
    await expect(ayse.page.locator(".table-row .chips-amount").first).to_have_text("5,000")
    await ayse.shoot("list")


async def require_shown(player: Player, ids: dict[str, str], wanted: set[str]) -> None:
    """Of these tables exactly the wanted ones are in the list."""
    for name, table_id in ids.items():
        row = player.page.locator(f"[data-do=join][data-table='{table_id}']")
        await expect(row).to_have_count(1 if name in wanted else 0)


async def test_statement_and_leaderboard_show_what_a_match_cost(come: Come) -> None:
    """Ç1, M9, R5: every booking with the balance after it, and the own place under the own name."""
    ayse = await come("Ayşe")
    page = ayse.page
    await ayse.make_table("solo", seats="2", stake="200")
    await page.wait_for_selector(".rack")
    await ayse.give_up()
    await page.click(".tabs [data-do=toAccount]")
    rows = page.locator("#main .figures tbody tr")
    await expect(rows.first).to_contain_text("Given up")
    await expect(rows.first.locator(".number").nth(0)).to_have_text("−100")
    await expect(rows.first.locator(".number").nth(1)).to_have_text("9,700")
    await expect(rows.last).to_contain_text("Welcome")
    await expect(page.locator(".account-facts .chips-amount")).to_have_text("9,700")
    await expect(page.locator(".account-facts")).to_contain_text("1,180")
    await ayse.shoot("statement")
    await page.click(".tabs [data-do=toLeaders]")
    own = page.locator("#main .figures .is-own")
    await expect(own).to_contain_text("Ayşe")
    await expect(own.locator(".number").nth(1)).to_have_text("1,180")
    await expect(page.locator("#main .figures")).not_to_contain_text("guest-")
    await page.click("[data-do=ladder][data-name=KLASIK]")
    await expect(page.locator(".note").first).to_be_visible()
    await expect(own).to_have_count(0)
    await ayse.shoot("leaders")
