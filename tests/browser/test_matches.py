"""Whole matches in browsers."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Come
from tests.browser.player import Player, play_round

pytestmark = pytest.mark.system

_HIDDEN = "TILE_UNSPECIFIED"
# Nobody holds it in any of so many: less than once in a thousand runs.
_MOST_DEALS = 22


def updates(player: Player) -> list[dict[str, Any]]:
    """Every update of the table that came over the wire."""
    tables = [frame["table"] for frame in player.frames if "table" in frame]
    return [table["update"] for table in tables if "update" in table]


def require_nothing_hidden_came(player: Player, seat: int) -> None:
    """Until a round is over no frame holds a tile that is hidden from this seat, nor a seed."""
    for update in updates(player):
        for event in update["events"]:
            if "tile_drawn" in event:
                drawn = event["tile_drawn"]
                is_open = drawn["source"] == "DRAW_SOURCE_DISCARD" or drawn["seat"] == seat
                assert (drawn["tile"] != _HIDDEN) == is_open
            if "round_dealt" in event:
                dealt = event["round_dealt"]
                assert [bool(rack["tiles"]) for rack in dealt["racks"]] == [
                    each == seat for each in range(len(dealt["racks"]))
                ]
                assert dealt["stock"] == []
        seen = update.get("view", {}).get("round")
        assert seen is None or update["view"]["viewer"] == seat


async def test_two_browsers_play_a_canak_match_to_the_end(come: Come) -> None:
    """Ç3: both see the winner and what it brought them; the deal is checked, the round watched."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet", locale="de-DE")
    await mehmet.choose_language("en")
    table_id = await ayse.make_table("create", seats="2", stake="100")
    await mehmet.join(table_id)
    await play_round(ayse, mehmet)
    for seat, player in enumerate((ayse, mehmet)):
        await expect(player.result.locator(".figures tbody tr")).to_have_count(2)
        await expect(player.result.locator(".figures")).not_to_contain_text("…")
        await player.shoot(f"canak-result-{player.name}")
        require_nothing_hidden_came(player, seat)
    await require_fair(ayse)
    await watch_again(mehmet)
    await play_on(ayse, mehmet, table_id)


async def play_on(stays: Player, leaves: Player, table_id: str) -> None:
    """Ç8, Ç9: who plays on waits at the kasa; who went to the lobby finds it there, and may pay."""
    await leaves.page.keyboard.press("Escape")
    await leaves.page.click(".centre [data-do=leave]")
    await stays.page.keyboard.press("Escape")
    await expect(stays.page.locator(".play-on")).to_contain_text("20 chips stand in the kasa")
    await stays.shoot("nachspiel")
    await stays.page.click(".centre [data-do=playOn]")
    await expect(stays.page.locator(".wait-title")).to_have_text("The kasa stands!")
    await leaves.page.click(".filters summary")
    await leaves.page.locator(".filters [name=kasa]").check()
    row = leaves.page.locator(".table-row", has=leaves.page.locator(f"[data-table='{table_id}']"))
    await expect(row).to_contain_text("kasa stands")
    await leaves.join(table_id)
    for player in (stays, leaves):
        await expect(player.tiles.first).to_be_visible()
        await expect(player.page.locator(".purse .chips-kasa .chips-amount")).to_have_text("40")


async def require_fair(player: Player) -> None:
    """T9: the browser rebuilds the deal from the seed, and says that everything is right."""
    await player.page.locator(".result [data-do=openFairness]").click()
    checks = player.page.locator(".checks li")
    await expect(checks).to_have_count(8)
    await expect(player.page.locator(".checks .is-wrong")).to_have_count(0)
    await player.shoot("fairness")


async def watch_again(player: Player) -> None:
    """The replay goes move by move, to the end and back."""
    await player.page.locator(".result [data-do=openReplay]").click()
    await player.page.locator("[data-do=replayOn]").click()
    await expect(player.page.locator(".replay-at")).to_contain_text("2 / ")
    await player.shoot("replay")


async def test_solo_to_the_end(come: Come) -> None:
    """O1: one person and three bots, without anybody else."""
    ayse = await come("Ayşe", locale="tr-TR")
    await ayse.choose_language("en")
    await ayse.make_table("solo", seats="4", bots="BOT_LEVEL_EASY")
    await ayse.shoot("solo-table")
    await ayse.play_round()
    await ayse.shoot("solo-result")
    play_on = ayse.result.locator("[data-do=playOn]")
    way = play_on.or_(ayse.result.locator("[data-do=leave]")).first
    # Ç8: the kasa stands, unless the match was won with an okey; then the table is over.
    if await way.get_attribute("data-do") == "playOn":
        await play_on.click()
        await expect(ayse.tiles.first).to_be_visible()


async def test_klasik_with_gosterge(come: Come) -> None:
    """K3, K4: who holds the second gösterge shows it; points fall until one has none left.

    About every fourth deal gives it to one of two: until then both give up, and begin anew.
    """
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    for _ in range(_MOST_DEALS):
        terms = {"variant": "VARIANT_KLASIK", "seats": "2", "points": "3"}
        await mehmet.join(await ayse.make_table("create", **terms))
        players = await in_order(ayse, mehmet)
        if any([await player.holds_gosterge() for player in players]):
            break
        await ayse.give_up()
        await mehmet.give_up()
    assert await one_shows(*players)
    await expect(ayse.page.locator(".badge-gosterge")).to_have_count(1)
    await ayse.shoot("klasik-gosterge")
    await play_round(ayse, mehmet)
    while await ayse.is_match_going_on() and await mehmet.is_match_going_on():
        await play_round(ayse, mehmet)
    await expect(ayse.result.locator("thead")).to_contain_text("Points")
    await ayse.shoot("klasik-result")


async def one_shows(*players: Player) -> bool:
    """Each plays its first turn, until one is offered to show the gösterge."""
    for player in players:
        await player.wait_for_turn()
        if await player.show_gosterge():
            return True
        await player.draw()
        await player.discard_last()
    return False


async def in_order(one: Player, other: Player) -> tuple[Player, Player]:
    """The starter first."""
    await one.page.wait_for_selector(".rack")
    await other.page.wait_for_selector(".rack")
    return (one, other) if await one.tiles.count() == 15 else (other, one)


async def test_cift_is_announced_binds_and_is_taken_back(come: Come) -> None:
    """H10, H11, H12: everybody sees it; while it stands only pairs finish."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    table_id = await ayse.make_table("solo", seats="2", bots="BOT_LEVEL_EASY")
    await mehmet.page.goto(f"{mehmet.url}table/{table_id}")
    await ayse.wait_for_turn()
    await ayse.draw()
    await ayse.actions.locator("[data-do=announceCift]").click()
    for player in (ayse, mehmet):
        await expect(player.page.locator(".seat-bottom .badge-cift")).to_be_visible()
    await ayse.page.click("[data-do=arrange][data-how=pairs]")
    await ayse.shoot("cift")
    await ayse.tiles.first.click()
    await ayse.actions.locator("[data-do=finish]").click()
    await expect(ayse.page.locator(".toast")).to_contain_text("only seven pairs finish")
    await ayse.actions.locator("[data-do=withdrawCift]").click()
    for player in (ayse, mehmet):
        await expect(player.page.locator(".badge-cift")).to_have_count(0)
    await ayse.discard_last()


async def test_giving_up_names_its_price_first(come: Come) -> None:
    """M9: half the stake beside 20 points; then the lobby shows what is left."""
    ayse = await come("Ayşe")
    await ayse.make_table("solo", seats="2", stake="200")
    await ayse.page.wait_for_selector(".rack")
    words = await ayse.give_up()
    assert "100 chips" in words
    assert "20 rating points" in words
    assert "stake of 200" in words
    await expect(ayse.page.locator(".me .chips-amount")).to_have_text("9,700")
