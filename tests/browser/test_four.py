"""Whole matches of four: partners, and a Klasik match that a tie-break decides."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from playwright.async_api import expect

from okey.table.view import TableView
from services.okeyctl.demo.platform import StartedPlatform
from tests.browser.company import Companion, Manners, keep_company
from tests.browser.conftest import Come
from tests.browser.player import Player, play_round

pytestmark = pytest.mark.system


@asynccontextmanager
async def company(
    platform: StartedPlatform, table_id: str, names: list[str], manners: Manners
) -> AsyncIterator[None]:
    """Others take the free seats and play while the block runs."""
    async with AsyncExitStack() as stack:
        companions = [
            Companion(
                await stack.enter_async_context(platform.client(f"{name}-{table_id[:6]}", name)),
                manners,
            )
            for name in names
        ]
        playing = asyncio.create_task(keep_company(table_id, *companions))
        try:
            yield
        finally:
            playing.cancel()
            await asyncio.wait([playing])
    if not playing.cancelled():
        playing.result()


async def figures(player: Player) -> list[list[str]]:
    """The rows of the result, once everything in them is known."""
    await expect(player.result.locator(".figures")).not_to_contain_text("…")
    rows = player.result.locator(".figures tbody tr")
    return [await row.locator("td").all_inner_texts() for row in await rows.all()]


async def test_partners_play_a_match_to_the_end(come: Come, platform: StartedPlatform) -> None:
    """O2, M6: one finish wins for both; they see the same winners, chips and ratings."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    terms = {"seats": "4", "mode": "MODE_ESLI", "stake": "100"}
    table_id = await ayse.make_table("create", **terms)
    await mehmet.page.goto(f"{mehmet.url}table/{table_id}")
    await mehmet.page.click("[data-do=takeSeat][data-seat-no='2']")
    async with company(platform, table_id, ["Zeynep", "Can"], Manners()):
        await expect(ayse.page.locator(".seat-top")).to_contain_text("Mehmet")
        await expect(ayse.page.locator(".badge-partner")).to_have_count(1)
        await expect(mehmet.page.locator(".seat-top .badge-partner")).to_have_count(1)
        await expect(ayse.tiles.first).to_be_visible()
        await ayse.shoot("partners-table")
        await play_round(ayse, mehmet)
        ours, theirs = await figures(ayse), await figures(mehmet)
    await ayse.shoot("partners-result")
    winners = [
        set(await player.result.locator(".is-winner td:first-child").all_inner_texts())
        for player in (ayse, mehmet)
    ]
    assert winners[0] == winners[1]
    assert winners[0] in ({"Ayşe", "Mehmet"}, {"Zeynep", "Can"}, set())
    chips, ratings = ours[0][1], [row[2] for row in ours]
    assert chips == theirs[2][1]
    assert [row[2] for row in theirs] == ratings
    assert (ratings[0], ratings[1]) == (ratings[2], ratings[3])
    if "Ayşe" in winners[0]:
        await expect(ayse.result).to_contain_text("You and Mehmet have won!")
        await expect(mehmet.result).to_contain_text("You and Ayşe have won!")


class TiedMatch(Manners):
    """Nobody wins two rounds, so that two who won one each are tied; the tie-break waits until it
    was ``seen``.
    """

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    def may_finish(self, view: TableView) -> bool:
        own = view.seats[view.viewer].points
        return any(seat.points >= own for seat in view.seats if seat.seat != view.viewer)

    async def wait(self, view: TableView) -> None:
        if view.round is not None and view.round.is_tie_break:
            await self.seen.wait()


async def is_ahead(player: Player) -> bool:
    """Whether the page shows more points at the own seat than at any other."""
    points = {
        seat: await player.page.locator(f".seat-{seat} .badge-points").inner_text()
        for seat in ("bottom", "right", "top", "left")
    }
    own = int(points.pop("bottom").split()[0])
    return all(int(text.split()[0]) < own for text in points.values())


async def test_a_tie_break_decides_a_klasik_match(come: Come, platform: StartedPlatform) -> None:
    """K5, K6: of four with three points two win a round each; they play on for the match, the
    others watch.
    """
    ayse = await come("Ayşe")
    terms = {"variant": "VARIANT_KLASIK", "seats": "4", "points": "3"}
    table_id = await ayse.make_table("create", **terms)
    title = ayse.page.locator(".round-no")
    manners = TiedMatch()
    async with company(platform, table_id, ["Mehmet", "Zeynep", "Can"], manners):
        await expect(title).to_have_text("Round 1")
        while await title.inner_text() != "Tie-break":
            await (ayse.pass_round() if await is_ahead(ayse) else ayse.play_round())
            assert await ayse.is_match_going_on()
        await expect(ayse.page.locator(".badge-out")).to_have_count(2)
        is_out = await ayse.page.locator(".seat-bottom .badge-out").count()
        await expect(ayse.page.locator(".rack")).to_have_count(0 if is_out else 1)
        await ayse.shoot("tie-break")
        manners.seen.set()
        await ayse.play_round()
        rows = await figures(ayse)
    await expect(ayse.result).to_contain_text("A tie-break decided the match.")
    await ayse.shoot("tie-break-result")
    assert sorted(row[1] for row in rows) == ["1", "1", "−1", "−1"]
    await ayse.result.locator("[data-do=leave]").click()  # K11: the table is closed
    await ayse.page.wait_for_selector(".lobby")
