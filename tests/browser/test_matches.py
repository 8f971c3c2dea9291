"""Whole matches in browsers."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Come
from tests.browser.player import play_round

pytestmark = pytest.mark.system


async def test_two_browsers_play_a_canak_match_to_the_end(come: Come) -> None:
    """Ç3: both see the same winner, and what it brought them."""
    ayse, mehmet = await come("Ayşe"), await come("Mehmet")
    table_id = await ayse.make_table("create", seats="2", stake="100")
    await mehmet.join(table_id)
    await play_round(ayse, mehmet)
    for player in (ayse, mehmet):
        await expect(player.result.locator(".figures tbody tr")).to_have_count(2)
        await player.shoot(f"canak-result-{player.name}")
