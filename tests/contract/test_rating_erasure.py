"""A player taken off the boards for good, on both databases."""

import pytest

from okey.rating import Ladder
from services.rating.erasure import Erase, Erased
from services.rating.place import NotRanked
from services.rating.rebuild import Rebuilt
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match, database, database_url, store
from tests.contract.test_rating_rebuild import played, rebuilt

__all__ = ["database", "database_url", "played", "store"]


def erasing(player: str) -> Erase:
    return Erase(player_id=player, actor="op", reason="asked for", now_ms=9)


async def listed(store: RatingStore, season: int) -> list[str]:
    """Who stands on any board of the season."""
    found = []
    for ladder in Ladder:
        for section in (Section.ESTABLISHED, Section.PROVISIONAL):
            page = await store.page(ladder, section, None, 100, season)
            found += [entry.player_id for entry in page.entries]
    return found


async def test_the_player_is_on_no_board_of_any_season(played: RatingStore) -> None:
    """R1: nor is anything shown of it; the others stand where they stood, with better ranks."""
    others = {one: await played.ratings_of(one) for one in ("bo", "cem", "dua", "eda")}
    before = [one for season in (1, 2) for one in await listed(played, season)]
    assert "ada" in before
    erased = await played.erase(erasing("ada"))
    assert erased == Erased(True, before.count("ada"))
    after = [one for season in (1, 2) for one in await listed(played, season)]
    assert sorted(after) == sorted(one for one in before if one != "ada")
    assert {one: await played.ratings_of(one) for one in others} == others
    with pytest.raises(NotRanked):
        await played.rank(Ladder.CANAK, "ada")
    assert await played.ratings_of("ada") == await played.ratings_of("nobody")
    assert await played.ratings_on(Ladder.CANAK, ["ada"]) == await played.ratings_on(
        Ladder.CANAK, ["nobody"]
    )
    assert (await played.history_of(Ladder.CANAK, "ada", None, 10)).changes == ()


async def test_again_it_changes_nothing(played: RatingStore) -> None:
    """R1: and nobody else may be erased by it."""
    await played.erase(erasing("ada"))
    assert await played.erase(erasing("ada")) == Erased(False, 0)
    assert await played.erase(erasing("never-played")) == Erased(True, 0)


async def test_the_books_agree_with_an_erasure(played: RatingStore) -> None:
    """R1..R5: a rebuild finds nothing wrong, and a repair brings nobody back."""
    await played.erase(erasing("ada"))
    assert (await rebuilt(played)).differences == []
    repaired: Rebuilt = await rebuilt(played, repair=True)
    assert (repaired.found, repaired.mended) == (0, 0)
    assert "ada" not in await listed(played, 2)


async def test_a_late_report_lists_nobody(played: RatingStore) -> None:
    """R1, R5: the match counts for the other, as it would have."""
    await played.erase(erasing("ada"))
    await played.record_match(a_match(20, "ada", "bo"))
    assert "ada" not in await listed(played, 2)
    assert (await rebuilt(played)).differences == []
