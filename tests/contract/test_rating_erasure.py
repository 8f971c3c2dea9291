"""A player taken off the boards for good, on both databases."""

import pytest

from okey.rating import KlasikWon, Ladder
from okey.rules.variant import Variant
from okey_runtime.erasable import PlayerUnknown
from services.rating.erasure import Erase, Erased
from services.rating.place import NotRanked
from services.rating.rebuild import Rebuilt
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import a_forfeit, a_match, database, database_url, store
from tests.contract.test_rating_rebuild import played, rebuilt

WON = KlasikWon(0, (5, 0))

__all__ = ["database", "database_url", "played", "store"]


def erasing(player: str, *, allow_unknown: bool = False) -> Erase:
    return Erase(
        player_id=player, actor="op", reason="asked for", now_ms=9, allow_unknown=allow_unknown
    )


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
    unknown = erasing("never-played", allow_unknown=True)
    assert await played.erase(unknown) == Erased(True, 0)
    assert await played.erase(erasing("never-played")) == Erased(False, 0)


async def test_who_never_played_is_erased_only_where_that_is_said(played: RatingStore) -> None:
    """R1: a slip of the pen takes nobody off boards that it comes to later."""
    with pytest.raises(PlayerUnknown):
        await played.erase(erasing("eva"))
    await played.record_match(a_match(20, "eva", "bo"))
    assert "eva" in await listed(played, 2)


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


async def test_a_late_report_makes_nobody_known_who_was_not_rated_yet(played: RatingStore) -> None:
    """R1, R5: nor on a ladder that the player had no match on; a give-up counts alike."""
    await played.erase(erasing("eva", allow_unknown=True))
    await played.erase(erasing("eda", allow_unknown=True))
    await played.record_match(a_match(20, "eva", "bo"))
    await played.record_match(a_match(21, "eva", "bo", variant=Variant.KLASIK, outcome=WON))
    await played.record_forfeit(a_forfeit(22, "eda"))
    shown = await listed(played, 2)
    assert {"eva", "eda"}.isdisjoint(shown)
    assert "bo" in shown
    assert await played.ratings_of("eva") == await played.ratings_of("nobody")
    assert (await played.history_of(Ladder.KLASIK, "eva", None, 10)).changes == ()
    repaired: Rebuilt = await rebuilt(played, repair=True)
    assert (repaired.found, repaired.mended) == (0, 0)
    assert {"eva", "eda"}.isdisjoint(await listed(played, 2))
