"""Seasons: started once, soft resets as changes, boards of ended seasons as they were."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select

from okey.rating import CanakWon, ChangeKind, Drawn, Ladder, Sink, Standing
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Variant
from okey_runtime.database import Database
from services.rating.place import NotRanked, Place
from services.rating.record import RatingRulesUnknown, SinkAmount
from services.rating.rulebook import RuleBook
from services.rating.schema import history
from services.rating.seasons import (
    Season,
    SeasonOutOfOrder,
    SeasonStartedDifferently,
    SeasonUnknown,
)
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import a_forfeit, a_match, database, database_url, store

__all__ = ["database", "database_url", "store"]

SECOND = Season(
    season=2,
    name="spring",
    keep_percent=50,
    towards_milli=1_200_000,
    started_ms=2_000_000,
    started_by="op",
)
THIRD = replace(SECOND, season=3, name="summer", started_ms=3_000_000)


async def ranked(store: RatingStore, section: Section, season: int = 0) -> list[tuple[str, int]]:
    page = await store.page(Ladder.CANAK, section, None, 50, season)
    return [(entry.player_id, entry.standing.rating_milli) for entry in page.entries]


async def test_a_player_enters_a_season_softly_reset(store: RatingStore) -> None:
    """R1: half of the distance stays, and the rated matches, so nobody is new again."""
    for number in (1, 2):
        await store.record_match(a_match(number, "ada", "bo"))
    before = (await store.ratings_of("ada"))[Ladder.CANAK]
    await store.start_season(SECOND)
    assert before == Standing(1_214_712, 2)
    assert (await store.ratings_of("ada"))[Ladder.CANAK] == Standing(1_207_356, 2)
    await store.record_match(a_match(3, "ada", "bo"))
    newest, reset, *_ = (await store.history_of(Ladder.CANAK, "ada", None, 9)).changes
    assert (reset.kind, reset.delta_milli, reset.rated_matches) == (
        ChangeKind.SEASON_RESET,
        -7_356,
        2,
    )
    assert (reset.season, reset.match_id, reset.occurred_ms) == (2, "", 2_000_000)
    assert (newest.rating_before_milli, newest.rated_matches, newest.season) == (1_207_356, 3, 2)
    assert (newest.change_no, reset.change_no) == (4, 3)


async def test_a_reset_is_booked_to_its_sink(store: RatingStore) -> None:
    """R5: all changes and sinks of a ladder still sum to zero."""
    await store.record_match(a_match(1, "ada", "bo", quitters=("bo",)))
    await store.start_season(SECOND)
    await store.record_match(a_match(2, "ada", "cem"))
    await store.record_match(a_match(3, "bo", "ada"))
    ratings = await store.ratings_on(Ladder.CANAK, ["ada", "bo", "cem"])
    drift = sum(each.rating_milli - 1_200_000 for each in ratings)
    sinks = {each.sink: each for each in await store.sink_totals() if each.ladder is Ladder.CANAK}
    assert sinks[Sink.SEASONS] == SinkAmount(Ladder.CANAK, Sink.SEASONS, 5_000 - 10_000)
    assert drift + sum(each.amount_milli for each in sinks.values()) == 0


async def test_the_board_of_an_ended_season_stays_as_it_was(store: RatingStore) -> None:
    await store.record_match(a_match(1, "ada", "bo"))
    first = await ranked(store, Section.PROVISIONAL)
    rank = await store.rank(Ladder.CANAK, "bo")
    await store.start_season(SECOND)
    assert await ranked(store, Section.PROVISIONAL) == []
    with pytest.raises(NotRanked, match="season 2"):
        await store.rank(Ladder.CANAK, "ada")
    await store.record_match(a_match(2, "bo", "cem"))
    assert await ranked(store, Section.PROVISIONAL, 1) == first
    assert await store.rank(Ladder.CANAK, "bo", 1) == rank
    around = await store.page_around(Ladder.CANAK, "bo", 3, 1)
    assert [entry.player_id for entry in around.entries] == ["ada", "bo"]
    assert [player for player, _ in await ranked(store, Section.PROVISIONAL)] == ["bo", "cem"]


async def test_who_skips_a_season_is_reset_twice(store: RatingStore) -> None:
    await store.record_match(a_match(1, "ada", "bo"))
    await store.start_season(SECOND)
    await store.record_match(a_match(2, "ada", None, outcome=Drawn()))
    await store.start_season(THIRD)
    assert (await store.ratings_of("ada"))[Ladder.CANAK] == Standing(1_202_500, 1)
    await store.record_match(a_match(3, "ada", "bo"))
    _, reset, _ = (await store.history_of(Ladder.CANAK, "ada", None, 9)).changes
    assert (reset.delta_milli, reset.season) == (-7_500, 3)


async def test_nobody_passes_anybody_by_a_reset(store: RatingStore) -> None:
    """And ladders that were not played stay at the start."""
    await store.record_match(a_match(1, "ada", "bo", "cem", "dua", outcome=CanakWon(2)))
    before = await store.ratings_on(Ladder.CANAK, ["ada", "bo", "cem", "dua"])
    await store.start_season(SECOND)
    after = await store.ratings_on(Ladder.CANAK, ["ada", "bo", "cem", "dua"])
    assert [each.rating_milli for each in before] == [1_196_667, 1_196_667, 1_209_999, 1_196_667]
    assert [each.rating_milli for each in after] == [1_198_334, 1_198_334, 1_204_999, 1_198_334]
    assert (await store.ratings_of("cem"))[Ladder.KLASIK] == Standing(1_200_000, 0)


async def test_a_match_over_a_seasons_start_counts_where_it_is_recorded(
    store: RatingStore,
) -> None:
    """R5: the compensation compares both ratings after the same reset."""
    for number in range(1, 6):
        await store.record_match(a_match(number, "bo", f"p{number}"))
    await store.record_forfeit(a_forfeit(9, "bo"))
    old = (await store.history_of(Ladder.CANAK, "bo", None, 1)).changes[0].rating_before_milli
    await store.start_season(SECOND)
    await store.record_match(a_match(9, "ada", "bo", quitters=("bo",)))
    (change,) = (await store.history_of(Ladder.CANAK, "ada", None, 9)).changes
    assert (change.season, change.kind) == (2, ChangeKind.COMPENSATION)
    lead = (old - 1_200_000) // 2
    assert 20_000 < lead < 25_000
    assert change.delta_milli == 10_689  # 24 points against: expected 0.465516
    assert (await store.ratings_of("bo"))[Ladder.CANAK].rated_matches == 6


async def test_the_same_start_again_changes_nothing(store: RatingStore) -> None:
    starts = await asyncio.gather(*(store.start_season(SECOND) for _ in range(4)))
    assert starts == [SECOND] * 4
    again = await store.start_season(replace(SECOND, started_ms=9, started_by="another"))
    assert again == SECOND
    assert [season.season for season in await store.list_seasons()] == [2, 1]
    assert (await store.list_seasons())[1].ended_ms == SECOND.started_ms


@pytest.mark.parametrize(
    ("wanted", "error", "says"),
    [
        (replace(SECOND, name="autumn"), SeasonStartedDifferently, "'spring' with 50 %"),
        (replace(SECOND, keep_percent=0), SeasonStartedDifferently, "that stands"),
        (replace(SECOND, season=4), SeasonOutOfOrder, "2 runs, so the next one is 3"),
    ],
)
async def test_another_start_is_refused(
    store: RatingStore, wanted: Season, error: type[Exception], says: str
) -> None:
    await store.start_season(SECOND)
    with pytest.raises(error, match=says):
        await store.start_season(wanted)
    assert len(await store.list_seasons()) == 2


async def test_a_season_that_never_was_is_not_found(store: RatingStore) -> None:
    with pytest.raises(SeasonUnknown, match="season 7"):
        await store.page(Ladder.CANAK, Section.ESTABLISHED, None, 9, 7)


async def test_matches_and_a_start_at_once_leave_an_unbroken_chain(
    store: RatingStore, database: Database
) -> None:
    """No change of the first season comes after one of the second, for anybody."""
    matches = [store.record_match(a_match(n, "ada", "bo")) for n in range(1, 9)]
    await asyncio.gather(*matches[:4], store.start_season(SECOND), *matches[4:])

    def read(connection: Connection) -> list[int]:
        query = select(history.c.season).where(history.c.player_id == "ada")
        query = query.where(history.c.ladder == Ladder.OVERALL).order_by(history.c.record_id)
        return list(connection.execute(query).scalars())

    order = await database.read(read)
    assert order == sorted(order)
    async for last in store.rebuild(repair=False):
        found = last
    assert getattr(found, "differences", None) == []


async def test_reports_without_end_do_not_put_a_start_off(store: RatingStore) -> None:
    """There is always one under way, and still the start gets its turn."""
    is_started = asyncio.Event()
    most = 80

    async def report(worker: int) -> int:
        for number in range(most):
            if is_started.is_set():
                return number
            await store.record_match(a_match(1_000 * worker + number, f"a{worker}", f"b{worker}"))
        return most

    async def start() -> int:
        await store.start_season(SECOND)
        is_started.set()
        return 0

    reported = await asyncio.gather(*map(report, range(1, 7)), start())
    assert max(reported) < most // 2


async def test_a_match_is_rated_by_the_rules_it_was_played_by(database: Database) -> None:
    """R1, R5: K and the price of giving up are those of the table's rule set."""
    bold = RuleSet(version="bold", rating_k_new=40, forfeit_milli_points=50_000)
    store = RatingStore(database, RuleBook(RuleSet(), [bold]))
    await store.record_match(replace(a_match(1, "ada", "bo"), rules_version="bold"))
    await store.record_forfeit(replace(a_forfeit(2, "bo"), rules_version="bold"))
    await store.record_forfeit(a_forfeit(3, "bo", variant=Variant.CANAK))
    assert (await store.ratings_of("bo"))[Ladder.CANAK] == Standing(1_110_000, 3)
    with pytest.raises(RatingRulesUnknown, match=r"'odd'.*knows 2026\.12, bold"):
        await store.record_match(replace(a_match(4, "ada", "bo"), rules_version="odd"))


async def test_pages_follow_each_other_over_many_equals(database: Database) -> None:
    """Ties are stable: the place is rating and id, so nobody is skipped or shown twice."""
    store = RatingStore(database, RuleBook(RuleSet(rating_new_matches=1)))
    players = [f"p{number:02}" for number in range(24)]
    for number in range(12):
        await store.record_match(a_match(number + 1, players[number], players[number + 12]))
    seen: list[tuple[int, str]] = []
    start: Place | None = None
    while True:
        page = await store.page(Ladder.CANAK, Section.ESTABLISHED, start, 5)
        seen += [(entry.rank, entry.player_id) for entry in page.entries]
        start = page.next_place
        if start is None:
            break
    assert seen == [(1 if n < 12 else 13, player) for n, player in enumerate(players)]
