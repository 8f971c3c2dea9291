"""R6 and R7 in the rating database: meetings are counted once, and a repetition changes nothing."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, Executable, delete, func, insert, select

from okey.rating import KlasikWon, Ladder
from okey.rules.rule_set import DEFAULT_RULE_SET, RULE_SETS
from okey.rules.variant import Variant
from okey_runtime.database import Database
from services.rating.difference import DifferenceKind
from services.rating.rebuild import Rebuilt
from services.rating.record import MatchRecord
from services.rating.rulebook import RuleBook
from services.rating.schema import meetings
from services.rating.store import RatingStore
from tests.contract.rating_play import a_forfeit, a_match, database, database_url

__all__ = ["database", "database_url"]

DAY_MS = DEFAULT_RULE_SET.meetings_window_ms


@pytest.fixture
def store(database: Database) -> RatingStore:
    return RatingStore(database, RuleBook(DEFAULT_RULE_SET, RULE_SETS.values()))


def at(number: int, ended_ms: int, *players: str, version: str = "2026.12") -> MatchRecord:
    """Ada's match against Bo unless said, which the first one won."""
    match = a_match(number, *(players or ("ada", "bo")))
    return replace(match, ended_ms=ended_ms, rules_version=version)


async def gained(store: RatingStore, match: MatchRecord, player: str = "ada") -> int:
    """What the player's rating over all changed by the match, in milli-points."""
    recorded = await store.record_match(match)
    (delta,) = (
        change.delta_milli
        for change in recorded.changes
        if (change.player_id, change.ladder) == (player, Ladder.OVERALL)
    )
    return delta


async def rebuilt(store: RatingStore) -> Rebuilt:
    steps = [each async for each in store.rebuild(repair=False)]
    assert isinstance(steps[-1], Rebuilt)
    return steps[-1]


def run(connection: Connection, statement: Executable) -> None:
    connection.execute(statement)


async def test_the_second_meeting_within_a_day_counts_half(store: RatingStore) -> None:
    """R7: the same day; a day later it is a first one again; others are not touched."""
    first = await gained(store, at(1, DAY_MS))
    assert first == 10_000
    second = await gained(store, at(2, DAY_MS + 1))
    assert 4_500 < second < 5_000
    assert await gained(store, at(3, DAY_MS + 2, "ada", "cem")) > 9_000
    # The first is a day old by then, the second a millisecond less: half of about 11 points.
    third = await gained(store, at(4, 2 * DAY_MS, "bo", "ada"), "bo")
    assert 5_000 < third < 5_600
    assert await gained(store, at(5, 4 * DAY_MS), "ada") > 9_000
    assert (await rebuilt(store)).differences == []


async def test_meetings_count_whatever_is_played(store: RatingStore) -> None:
    """R7: Çanak, then Klasik; both ladders of a match are divided alike."""
    await store.record_match(at(1, DAY_MS))
    klasik = a_match(2, "ada", "bo", variant=Variant.KLASIK, outcome=KlasikWon(0, (5, 0)))
    klasik = replace(klasik, ended_ms=DAY_MS + 1, rules_version="2026.12")
    recorded = await store.record_match(klasik)
    of_ada = {c.ladder: c.delta_milli for c in recorded.changes if c.player_id == "ada"}
    assert of_ada[Ladder.KLASIK] == 5_000
    assert of_ada[Ladder.OVERALL] < 5_000


async def test_a_repeated_report_gets_the_first_answer_after_later_meetings(
    store: RatingStore, database: Database
) -> None:
    """R7, M5: the number of a meeting is what it was when the match was recorded."""
    matches = [at(number, DAY_MS + number) for number in range(1, 5)]
    first = [await store.record_match(match) for match in matches]
    assert [await store.record_match(match) for match in reversed(matches)] == first[::-1]
    count = await database.read(
        lambda connection: connection.execute(
            select(func.count()).select_from(meetings)
        ).scalar_one()
    )
    assert count == 4


async def test_a_late_report_is_numbered_after_what_was_recorded_before_it(
    store: RatingStore,
) -> None:
    """R7: whichever ended first, no two meetings are both the first; a rebuild agrees."""
    assert await gained(store, at(2, DAY_MS + 60_000)) == 10_000
    assert 4_500 < await gained(store, at(1, DAY_MS)) < 5_000
    assert (await rebuilt(store)).differences == []


async def test_the_gain_from_who_gives_up_is_divided_and_the_price_is_not(
    store: RatingStore,
) -> None:
    """R5, R7: twice in a day."""
    gains = []
    for number in (1, 2):
        forfeit = replace(a_forfeit(number, "bo"), rules_version="2026.12")
        (price, _) = (await store.record_forfeit(forfeit)).changes
        assert price.delta_milli == -20_000
        match = a_match(number, "ada", "bo", quitters=("bo",))
        match = replace(match, ended_ms=DAY_MS + number, rules_version="2026.12")
        gains.append(await gained(store, match))
    assert gains[0] == 10_000
    assert gains[1] < 5_000


async def test_a_table_behind_an_invite_code_rates_nobody_but_who_gives_up(
    store: RatingStore, database: Database
) -> None:
    """R6, R5: the match is recorded and no meeting; the forfeit costs 20 all the same."""
    forfeit = replace(a_forfeit(1, "bo"), rules_version="2026.12")
    await store.record_forfeit(forfeit)
    quit_match = replace(a_match(1, "ada", "bo", quitters=("bo",)), rules_version="2026.12")
    private = replace(quit_match, is_private=True)
    assert (await store.record_match(private)).changes == ()
    assert (await store.record_match(private)).changes == ()
    standings = await store.ratings_of("bo")
    assert standings[Ladder.OVERALL].rating_milli == 1_180_000
    assert await gained(store, at(2, DAY_MS, "ada", "cem")) == 10_000
    assert (await rebuilt(store)).differences == []


async def test_matches_of_the_version_before_are_neither_divided_nor_counted(
    store: RatingStore,
) -> None:
    """R7: a running table keeps its rules, whichever version its opponents play next."""
    old = [await gained(store, at(n, DAY_MS + n, version="2026.11")) for n in (1, 2)]
    assert old[0] == 10_000
    assert old[1] > 9_000
    assert await gained(store, at(3, DAY_MS + 3)) > 8_000
    assert (await rebuilt(store)).differences == []


async def test_a_rebuild_tells_meetings_that_nobody_played(
    store: RatingStore, database: Database
) -> None:
    """R7: one taken away, and one put in, are found by their event."""
    await store.record_match(at(1, DAY_MS))
    row = {"low_player": "ada", "high_player": "cem", "ended_ms": DAY_MS, "record_id": 1}
    await database.transact(lambda connection: run(connection, insert(meetings).values(row)))
    (found,) = (await rebuilt(store)).differences
    assert (found.kind, found.expected, found.actual) == (DifferenceKind.MEETING, 1, 2)
    await database.transact(lambda connection: run(connection, delete(meetings)))
    (found,) = (await rebuilt(store)).differences
    assert (found.kind, found.expected, found.actual) == (DifferenceKind.MEETING, 1, 0)
