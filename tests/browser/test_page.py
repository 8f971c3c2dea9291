"""How the page is used: by finger, mouse and keyboard, on a phone, and through what breaks."""

import pytest
from playwright.async_api import Page, ViewportSize, expect

from okey.api.lobby.v1 import lobby_pb2
from services.okeyctl.demo.platform import StartedPlatform
from tests.browser.conftest import Come
from tests.browser.player import PHONE, PHONE_ON_ITS_SIDE, SHORT_PHONE, SMALL_PHONE, Player
from tests.e2e.match import kill

pytestmark = pytest.mark.system

TERMS = lobby_pb2.TableTerms(seat_count=2, stake=50)
# A window gets its new size some frames after it was asked for it, and is laid out anew after that.
LAID_OUT = """size => innerHeight === size.height && new Promise(laidOut =>
    requestAnimationFrame(() => requestAnimationFrame(() => laidOut(true))))"""


async def order_of(player: Player) -> list[str]:
    """What lies on each slot of the rack."""
    slots = player.page.locator("#rack .slot")
    script = "slots => slots.map(slot => slot.querySelector('.tile')?.dataset.tile ?? '')"
    found: list[str] = await slots.evaluate_all(script)
    return found


async def expect_at(player: Player, slot: int, tile: str) -> None:
    """The tile comes to lie there, once the page has drawn what was done."""
    lying = player.page.locator(f"#rack .slot[data-slot='{slot}'] .tile")
    await expect(lying).to_have_attribute("data-tile", tile)


async def expect_order(player: Player, order: list[str]) -> None:
    """Every tile lies where it lay before."""
    for slot, tile in enumerate(order):
        if tile:
            await expect_at(player, slot, tile)


# Every state that the page's connection comes to.
KEPT_STATES = """() => {
    window.isSamePage = true;
    window.states = [];
    const html = document.documentElement;
    new MutationObserver(() => window.states.push(html.dataset.connection))
        .observe(html, {attributeFilter: ["data-connection"]});
}"""


async def sit_alone(player: Player, **chosen: str) -> None:
    """A solo table, at the own turn."""
    await player.make_table("solo", **{"seats": "2", "bots": "BOT_LEVEL_EASY", **chosen})
    await player.wait_for_turn()


async def drag(page: Page, source: str, target: str) -> None:
    """From the middle of one thing to the middle of another, by the mouse."""
    start = await page.locator(source).first.bounding_box()
    end = await page.locator(target).first.bounding_box()
    assert start is not None
    assert end is not None
    await page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=6)
    await page.mouse.up()


async def test_tiles_are_dragged(come: Come) -> None:
    """From the stock to a slot, from slot to slot, to the own pile; onto the gösterge, in vain."""
    ayse = await come("Ayşe", reduced_motion="no-preference")
    await sit_alone(ayse)
    if await ayse.tiles.count() == 14:
        await drag(ayse.page, ".stock", ".slot[data-slot='27']")
        await expect(ayse.page.locator(".slot[data-slot='27'] .tile")).to_be_visible()
    tile = (await order_of(ayse))[0]
    await drag(ayse.page, ".slot[data-slot='0'] .tile", ".slot[data-slot='13']")
    await expect_at(ayse, 13, tile)
    await drag(ayse.page, ".slot[data-slot='13'] .tile", ".gosterge")
    await expect(ayse.page.locator(".toast")).to_contain_text("no finish")
    await ayse.shoot("finish-refused")
    await drag(ayse.page, ".slot[data-slot='13'] .tile", ".pile-at-bottom")
    await expect(ayse.tiles).to_have_count(14)
    await expect(ayse.page.locator(".pile-at-bottom .tile").last).to_be_visible()


async def test_who_sorts_twice_at_once_is_not_scolded(come: Come) -> None:
    """The engine sorts once in 200 ms; the page waits that long by itself."""
    ayse = await come("Ayşe")
    await sit_alone(ayse)
    twice = "button => { button.click(); button.click(); }"
    async with ayse.page.expect_response(lambda answer: answer.status == 429):
        await ayse.page.locator("[data-how=best]").evaluate(twice)
    async with ayse.page.expect_response("**/ArrangeRack") as again:
        await expect(ayse.page.locator(".hint[data-missing]")).to_be_visible()
    assert (await again.value).ok
    await expect(ayse.page.locator(".toast")).to_have_count(0)


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something is focused."""
    for _ in range(60):
        if await page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"no way to {selector} by Tab")


async def test_keyboard_only(come: Come) -> None:
    """From the lobby to a table, a tile moved, drawn and discarded, without a pointer."""
    ayse = await come("Ayşe")
    page = ayse.page
    await tab_to(page, "[data-do=solo]")
    await page.keyboard.press("Enter")
    await tab_to(page, "form.play-form [type=submit]")
    await page.keyboard.press("Enter")
    await ayse.wait_for_turn()
    await page.keyboard.press("s")
    await expect(ayse.tiles).to_have_count(15)
    await tab_to(page, "#rack .tile")
    before = await order_of(ayse)
    focused = int(await page.evaluate("() => document.activeElement.dataset.slot"))
    await page.keyboard.press("m")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect_at(ayse, focused + 14, before[focused])
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Space")
    await expect(page.locator("#rack .tile[aria-pressed=true]")).to_be_focused()
    await page.keyboard.press("d")
    await expect(ayse.tiles).to_have_count(14)
    await expect(page.locator("#live")).not_to_be_empty()


async def test_phone(come: Come) -> None:
    """Upright and on its side everything fits, and tiles can be hit by a finger."""
    ayse = await come("Ayşe", viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark")
    page = ayse.page
    await ayse.shoot("phone-lobby")
    await sit_alone(ayse, seats="4")
    await ayse.draw_by_touch()
    await page.locator("#rack .tile").last.tap()
    await ayse.shoot("phone-table-dark")
    for viewport in (PHONE, PHONE_ON_ITS_SIDE):
        await page.set_viewport_size(viewport)
        await page.wait_for_function(LAID_OUT, arg=viewport)
        wide = await page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= viewport["width"]
        rack = await page.locator("#rack").bounding_box()
        tile = await ayse.tiles.first.bounding_box()
        assert rack is not None
        assert tile is not None
        assert rack["y"] + rack["height"] <= viewport["height"]
        assert min(tile["width"], tile["height"]) >= 24
        await ayse.shoot(f"phone-{viewport['width']}")
    await page.locator(".pile-at-bottom").tap()
    await expect(ayse.tiles).to_have_count(14)


# What at a table lies over the edge of its part of the window.
OVER_THE_EDGE = """() => [".table-bar", ".felt", ".own-side"].flatMap((part) => {
    const edge = document.querySelector(part).getBoundingClientRect();
    return [...document.querySelectorAll(`${part} > *, ${part} .centre > *`)].filter((shown) => {
        const { left, right, top, bottom } = shown.getBoundingClientRect();
        return left < 0 || right > innerWidth || top < edge.top || bottom > edge.bottom;
    }).map((shown) => shown.className);
})"""


@pytest.mark.parametrize("viewport", [SMALL_PHONE, SHORT_PHONE], ids=["small", "short"])
@pytest.mark.parametrize("seats", ["2", "4"])
async def test_small_phones_show_the_whole_table(
    come: Come, seats: str, viewport: ViewportSize
) -> None:
    """320 pixels are what a page has to make do with (WCAG 1.4.10); browsers' bars take height."""
    ayse = await come("Ayşe", viewport=viewport, has_touch=True, is_mobile=True, locale="de-DE")
    await sit_alone(ayse, seats=seats)
    await ayse.shoot(f"phone-{viewport['width']}-{seats}")
    assert await ayse.page.evaluate(OVER_THE_EDGE) == []


async def test_reload_in_mid_turn(come: Come) -> None:
    """The table is there again, the tiles lie where the player had put them, the turn goes on."""
    ayse = await come("Ayşe")
    await sit_alone(ayse)
    await ayse.draw()
    tile = (await order_of(ayse))[0]
    await drag(ayse.page, ".slot[data-slot='0'] .tile", ".slot[data-slot='13']")
    await expect_at(ayse, 13, tile)
    before = await order_of(ayse)
    await ayse.page.reload()
    await expect(ayse.tiles).to_have_count(15)
    await expect_order(ayse, before)
    await ayse.discard_last()


@pytest.mark.parametrize("victim", ["engine", "gateway"])
async def test_a_server_restarts_in_mid_turn(
    come: Come, platform: StartedPlatform, victim: str
) -> None:
    """Without a reload: the page tells that something is away, comes back, and plays on."""
    ayse = await come(f"Ayşe-{victim}")
    await sit_alone(ayse)
    await ayse.draw()
    await ayse.page.evaluate(KEPT_STATES)
    before = await order_of(ayse)
    await kill(platform, victim)
    told = "away" if victim == "engine" else "lost"
    await ayse.page.wait_for_function("told => window.states.includes(told)", arg=told)
    await expect(ayse.page.locator("html")).to_have_attribute("data-connection", "open")
    await expect_order(ayse, before)
    await ayse.discard_last()
    assert await ayse.page.evaluate("() => window.isSamePage")


async def test_a_stand_in_plays_until_one_is_back(come: Come) -> None:
    """U7, U8: after two missed turns an AI minds the seat; one button takes it back."""
    ayse = await come("Ayşe")
    await sit_alone(ayse, turn="15000")
    back = ayse.page.locator("[data-do=returnToSeat]")
    await expect(back).to_be_visible()
    await ayse.shoot("stand-in")
    await back.click()
    await expect(back).to_have_count(0)
    await expect(ayse.page.locator(".badge-away")).to_have_count(0)


async def test_friends_come_by_an_invite_link(come: Come, platform: StartedPlatform) -> None:
    """A private table is in no list; who opens the link sits down."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    table_id = await ayse.make_table("create", seats="2", isPrivate=True)
    await ayse.page.click("[data-do=invite]")
    link = await ayse.page.locator(".invite-link").input_value()
    assert "#" in link
    # A table that was made later is in the list already: so this one is in none.
    async with platform.client("makes-a-public-table") as client:
        public = await client.lobby.create_table(TERMS)
    await expect(mehmet.page.locator(f"[data-table='{public}']")).to_be_visible()
    await expect(mehmet.page.locator(f"[data-table='{table_id}']")).to_have_count(0)
    await mehmet.page.goto(link)
    await expect(mehmet.tiles.first).to_be_visible()
    assert mehmet.page.url.startswith(f"{mehmet.url}table/{table_id}")


async def test_quick_match_waits_honestly_and_seats_two(come: Come) -> None:
    """The page says how long one has waited and who waits too, and promises nothing."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    for player in (ayse, mehmet):
        await player.page.click("[data-do=quick]")
        await player.page.locator("form.play-form [name=seats]").select_option("2")
        await player.page.click("form.play-form [type=submit]")
        if player is ayse:
            await expect(ayse.page.locator(".ticket")).to_contain_text("Looking for players")
            await ayse.shoot("quick-match")
    for player in (ayse, mehmet):
        await expect(player.tiles.first).to_be_visible()


async def test_a_search_goes_on_over_a_reload_of_any_page(come: Come) -> None:
    """Whoever reads the leaderboard meanwhile is taken to the table all the same."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    for player in (ayse, mehmet):
        await player.page.click("[data-do=quick]")
        await player.page.locator("form.play-form [name=seats]").select_option("2")
        await player.page.locator("form.play-form [name=stake]").fill("3050")
        await player.page.click("form.play-form [type=submit]")
        if player is ayse:
            await expect(ayse.page.locator(".ticket")).to_be_visible()
            await ayse.page.click(".tabs [data-do=toLeaders]")
            async with ayse.page.expect_response("**/GetTicket"):
                await ayse.page.reload()
    for player in (ayse, mehmet):
        await expect(player.tiles.first).to_be_visible()


async def sign_in(player: Player, name: str) -> None:
    """From the welcome page on."""
    await player.page.get_by_role("textbox").fill(name)
    await player.page.get_by_role("textbox").press("Enter")
    await player.page.wait_for_selector(".lobby")


async def test_who_signs_out_leaves_nothing_to_the_next(come: Come) -> None:
    """A search ends with it, and another guest in the same tab begins anew."""
    ayse = await come("Ayşe")
    page = ayse.page
    await page.click("[data-do=quick]")
    await page.locator("form.play-form [name=stake]").fill("7700")
    await page.click("form.play-form [type=submit]")
    await expect(page.locator(".ticket")).to_be_visible()
    await page.click("[data-do=openMenu]")
    async with page.expect_response("**/CancelTicket"):
        await page.click("#dialog [data-do=signOut]")
    await sign_in(ayse, "Mehmet")
    await expect(page.locator(".ticket")).to_have_count(0)
    await expect(page.locator("[data-do=quick]")).to_be_visible()


TWICE = "element => { element.click(); element.click(); }"


async def test_who_clicks_twice_means_it_once(come: Come, platform: StartedPlatform) -> None:
    """One guest comes in, one table is made, joined and left, and nobody is scolded."""
    ayse = await come("Ayşe")
    page, asked = ayse.page, list[str]()
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    async with platform.client("makes-a-table-to-join") as client:
        table_id = await client.lobby.create_table(TERMS)
    await page.locator(f"[data-do=join][data-table='{table_id}']").evaluate(TWICE)
    await page.wait_for_selector(".table-screen")
    await page.locator("[data-do=leave]").first.evaluate(TWICE)
    await page.wait_for_selector(".lobby")
    await page.click("[data-do=create]")
    await page.locator("form.play-form [type=submit]").evaluate(TWICE)
    await page.wait_for_selector(".table-screen")
    await page.click("[data-do=openMenu]")
    await page.click("#dialog [data-do=signOut]")
    await page.get_by_role("textbox").fill("Mehmet")
    await page.locator("form [type=submit]").evaluate(TWICE)
    await page.wait_for_selector(".lobby")
    assert [asked.count(call) for call in ("JoinTable", "CreateTable", "guest")] == [1, 1, 1]
    await expect(page.locator(".toast")).to_have_count(0)


BLOCKED = """for (const kind of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, kind,
        {get() { throw new DOMException("no", "SecurityError"); }});"""
FULL = (
    """Storage.prototype.setItem = () => { throw new DOMException("no", "QuotaExceededError"); };"""
)
RUBBISH = """for (const key of ["language", "theme", "order", "session"])
    localStorage.setItem(`okey.${key}`, "{rubbish");
sessionStorage.getItem("okey.session") ?? sessionStorage.setItem("okey.session", "{rubbish");"""


@pytest.mark.parametrize("script", [BLOCKED, FULL, RUBBISH], ids=["blocked", "full", "rubbish"])
async def test_the_page_works_whatever_the_browser_keeps(come: Come, script: str) -> None:
    """A private table is made and shown with its code: nothing is held that nobody sees."""
    ayse = await come("Ayşe", script=script)
    await ayse.make_table("create", seats="2", isPrivate=True)
    await ayse.page.click("[data-do=invite]")
    assert "#" in await ayse.page.locator(".invite-link").input_value()
    await expect(ayse.page.locator(".toast")).to_have_count(0)


AN_EVENING_FAST = "const now = Date.now; Date.now = () => now() + 13 * 3600000;"


async def test_a_clock_that_is_fast_changes_nobody(come: Come) -> None:
    """By the device's clock the token has ended before it began."""
    ayse = await come("Ayşe", script=AN_EVENING_FAST)
    asked = list[str]()
    ayse.page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    await ayse.page.click(".tabs [data-do=toAccount]")
    await expect(ayse.page.locator(".statement, table").first).to_be_visible()
    await ayse.page.reload()
    await ayse.page.wait_for_selector(".lobby, .account, table")
    assert "ListPostings" in asked
    assert asked.count("guest") == 0


# An older page, which has reloaded just now and so does not yet again.
OLDER = """if (!sessionStorage.getItem("okey.reloaded")) {
    sessionStorage.setItem("okey.reloaded", String(Date.now()));
    window.isOld = true;
    document.addEventListener("readystatechange", () => {
        document.querySelector("meta[name=okey-build]").content = "older";
    });
}"""


async def test_a_page_older_than_its_gateway_is_loaded_again_but_in_no_round(come: Come) -> None:
    """It says so meanwhile; the player stays signed in."""
    ayse = await come("Ayşe", script=OLDER)
    banner = ayse.page.locator("#connection")
    await expect(banner).to_contain_text("newer version")
    await sit_alone(ayse)
    await ayse.page.evaluate("() => sessionStorage.setItem('okey.reloaded', '0')")
    await ayse.draw()
    await ayse.discard_last()
    await ayse.wait_for_turn()
    assert await ayse.page.evaluate("() => window.isOld")
    await expect(banner).to_contain_text("newer version")
    await ayse.give_up()
    await ayse.page.wait_for_function("() => !window.isOld")
    await ayse.page.wait_for_selector(".lobby")
    await expect(banner).to_have_text("")
