"""A rebuild gives what is stored; whatever is changed behind the service's back shows."""

import pytest
from sqlalchemy import Connection, Executable, delete, insert, update

from okey.rating import CanakWon, Drawn, KlasikWon, Ladder
from okey.rules.variant import Mode, Variant
from okey_runtime.database import Database
from services.rating.difference import DifferenceKind, Progress
from services.rating.place import NotRanked
from services.rating.rebuild import Rebuilt
from services.rating.schema import (
    board_counts,
    history,
    ratings,
    records,
    seasons,
    sink_postings,
)
from services.rating.seasons import Season
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import TABLE, a_forfeit, a_match, database, database_url, store

__all__ = ["database", "database_url", "store"]

Kind = DifferenceKind


@pytest.fixture
async def played(store: RatingStore) -> RatingStore:
    """Every kind of event, over two seasons."""
    await store.record_match(a_match(1, "ada", "bo"))
    await store.record_match(a_match(2, "ada", "bo", "cem", "dua", outcome=CanakWon(2)))
    await store.record_forfeit(a_forfeit(3, "bo"))
    klasik = a_match(4, "ada", "cem", variant=Variant.KLASIK, outcome=KlasikWon(0, (5, 0)))
    await store.record_match(klasik)
    second = Season(season=2, name="", keep_percent=40, towards_milli=1_200_000, started_ms=7)
    await store.start_season(second)
    await store.record_match(a_match(3, "ada", "bo", quitters=("bo",)))
    await store.record_match(a_match(5, "bo", "dua", "ada", "cem", mode=Mode.ESLI))
    await store.record_match(
        a_match(8, "bo", "dua", "ada", "cem", mode=Mode.ESLI, quitters=("dua",))
    )
    await store.record_match(
        a_match(9, "bo", "dua", "ada", "cem", mode=Mode.ESLI, excused=("ada",))
    )
    await store.record_match(a_match(6, "ada", "bo", outcome=Drawn()))
    await store.record_match(a_match(7, "eda", None, mode=Mode.SOLO))
    return store


async def rebuilt(store: RatingStore, *, repair: bool = False) -> Rebuilt:
    async for last in store.rebuild(repair=repair):
        result = last
    assert isinstance(result, Rebuilt)
    return result


async def test_what_is_stored_is_what_the_events_give(played: RatingStore) -> None:
    """R1..R5: over seasons, forfeits and unrated matches."""
    steps = [each async for each in played.rebuild(repair=False)]
    result = steps[-1]
    assert isinstance(result, Rebuilt)
    assert (result.differences, result.found, result.mended) == ([], 0, 0)
    # Nine matches and two forfeits; 44 changes by matches and forfeits, 8 soft resets.
    assert (result.records, result.changes) == (11, 52)
    assert {each.step for each in steps if isinstance(each, Progress)} == {
        "records",
        "ratings",
        "counts",
    }


CANAK_ADA = (ratings.c.ladder == Ladder.CANAK, ratings.c.player_id == "ada")
THE_FIRST = (history.c.match_id == f"{TABLE}-1", history.c.ladder == Ladder.CANAK)

TAMPERED = {
    "a rating": (
        update(ratings).where(*CANAK_ADA, ratings.c.season == 2).values(rating_milli=9_999_999),
        {(Kind.RATING, "ada")},
    ),
    "a number of matches": (
        update(ratings).where(*CANAK_ADA, ratings.c.season == 1).values(rated_matches=50),
        {(Kind.RATED_MATCHES, "ada")},
    ),
    "a section": (
        update(ratings)
        .where(*CANAK_ADA, ratings.c.season == 2)
        .values(section=Section.ESTABLISHED),
        {(Kind.SECTION, "ada")},
    ),
    "a rating taken away": (
        delete(ratings).where(*CANAK_ADA, ratings.c.season == 2),
        {(Kind.RATING, "ada"), (Kind.RATED_MATCHES, "ada"), (Kind.SECTION, "ada")},
    ),
    "a change": (
        update(history).where(*THE_FIRST, history.c.player_id == "ada").values(delta_milli=11_000),
        {(Kind.CHANGE, "ada"), (Kind.CHAIN, "ada: change 2")},
    ),
    "a change taken away": (
        delete(history).where(*THE_FIRST, history.c.player_id == "bo"),
        {
            (Kind.CHANGE, "bo"),
            (Kind.CHAIN, "bo: change 2"),
            (Kind.RATED_MATCHES, "bo: change 2"),
        },
    ),
    "a soft reset": (
        update(history)
        .where(
            history.c.kind == 4,
            history.c.player_id == "ada",
            history.c.ladder == Ladder.CANAK,
        )
        .values(delta_milli=history.c.delta_milli + 1),
        {
            (Kind.RESET, "ada: change 3"),
            (Kind.CHAIN, "ada: change 4"),
            (Kind.SINK, "event 5: seasons"),
        },
    ),
    "a sink": (
        delete(sink_postings).where(
            sink_postings.c.sink == "forfeits", sink_postings.c.record_id == 3
        ),
        {(Kind.SINK, "event 3: forfeits")},
    ),
    "an event": (
        update(records).where(records.c.record_id == 1).values(content="{}"),
        {(Kind.EVENT, "event 1: its content is not the one that was recorded")},
    ),
    "an event's match": (
        update(records).where(records.c.record_id == 1).values(match_id="other"),
        {(Kind.EVENT, f"event 1: its content is that of match {TABLE}-1")},
    ),
    "a forfeit's match": (
        update(records).where(records.c.player_id == "bo").values(match_id="other"),
        {(Kind.EVENT, f"event 3: its content is of 'bo' in {TABLE}-3")},
    ),
    "a change's match": (
        update(history).where(*THE_FIRST, history.c.player_id == "bo").values(match_id="other"),
        {(Kind.EVENT, "event 1: its change of bo is of another match")},
    ),
    "a change's time": (
        update(history).where(*THE_FIRST, history.c.player_id == "bo").values(occurred_ms=9),
        {(Kind.CHANGE, "bo: the time of event 1")},
    ),
    "a kind that there is none of": (
        update(history).where(*THE_FIRST, history.c.player_id == "bo").values(kind=99),
        {(Kind.CHANGE, "bo"), (Kind.CHANGE, "bo: change 1: 99 is not a valid ChangeKind")},
    ),
    "a sink of no ladder": (
        update(sink_postings)
        .where(sink_postings.c.record_id == 3, sink_postings.c.ladder == Ladder.CANAK)
        .values(ladder=9),
        {(Kind.SINK, "event 3: forfeits")},
    ),
    "a section that there is none of": (
        update(ratings).where(*CANAK_ADA, ratings.c.season == 2).values(section=9),
        {(Kind.SECTION, "ada")},
    ),
    "a count of no section": (
        update(board_counts)
        .where(
            board_counts.c.season == 1,
            board_counts.c.ladder == Ladder.CANAK,
            board_counts.c.level == 3,
        )
        .values(section=9),
        {(Kind.COUNT, "PROVISIONAL: level 3, bucket 0"), (Kind.COUNT, "9: level 3, bucket 0")},
    ),
    "a rule set": (
        update(records).where(records.c.record_id == 1).values(rules_version="lost"),
        {
            (
                Kind.EVENT,
                "event 1: rules_version 'lost': this rating service knows 2026.12; start one that "
                "knows it, the report is sent again until then",
            )
        },
    ),
    "a count": (
        delete(board_counts).where(board_counts.c.level == 3, board_counts.c.season == 1),
        {(Kind.COUNT, "PROVISIONAL: level 3, bucket 0")},
    ),
    "two running seasons": (
        update(seasons).values(ended_ms=None),
        {(Kind.SEASON, "season 1: its end")},
    ),
    "no running season": (
        update(seasons).values(ended_ms=seasons.c.started_ms + 7),
        {(Kind.SEASON, "season 2: its end")},
    ),
    "an invented rating": (
        insert(ratings).values(
            ladder=1, player_id="zoe", season=2, rating_milli=1, rated_matches=1, section=2
        ),
        {(Kind.RATING, "zoe"), (Kind.RATED_MATCHES, "zoe"), (Kind.SECTION, "zoe")},
    ),
}
DERIVED = {
    Kind.RATING,
    Kind.RATED_MATCHES,
    Kind.SECTION,
    Kind.COUNT,
    Kind.SEASON,
}


# The same statements run on PostgreSQL in the other tests.
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("what", TAMPERED)
async def test_what_was_changed_behind_its_back_is_told_and_no_more(
    played: RatingStore, database: Database, what: str
) -> None:
    """And what is derived is mended on request."""
    statement, expected = TAMPERED[what]
    await database.transact(lambda connection: _run(connection, statement))
    result = await rebuilt(played)
    # The counts are held against the ratings, whoever is right.
    kept = [
        each for each in result.differences if what.startswith("a count") or each.kind != Kind.COUNT
    ]
    assert {(each.kind, each.subject) for each in kept} == expected
    assert all(each.expected != each.actual or each.kind is Kind.EVENT for each in kept)
    await rebuilt(played, repair=True)
    left = {(each.kind, each.subject) for each in (await rebuilt(played)).differences}
    assert left == {each for each in expected if not _is_mended(each)}


def _is_mended(each: tuple[Kind, str]) -> bool:
    return each[0] in DERIVED and ": change" not in each[1]


async def test_a_mended_board_is_right_again(played: RatingStore, database: Database) -> None:
    before = await played.rank(Ladder.CANAK, "ada")
    statement, _ = TAMPERED["a rating taken away"]
    await database.transact(lambda connection: _run(connection, statement))
    with pytest.raises(NotRanked):
        await played.rank(Ladder.CANAK, "ada")
    result = await rebuilt(played, repair=True)
    assert result.mended == 1
    assert await played.rank(Ladder.CANAK, "ada") == before


async def test_two_running_seasons_are_mended(played: RatingStore, database: Database) -> None:
    """As nothing but a hand in the database makes them."""
    await database.transact(
        lambda connection: _run(connection, update(seasons).values(ended_ms=None))
    )
    assert (await played.rank(Ladder.CANAK, "ada")).season == 2
    assert (await rebuilt(played)).found == 1
    assert (await rebuilt(played, repair=True)).mended == 1
    await played.record_match(a_match(20, "ada", "bo"))
    assert [each.ended_ms for each in await played.list_seasons()] == [None, 7]
    assert (await rebuilt(played)).differences == []


async def test_more_differences_than_are_told_are_counted(
    store: RatingStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.rating.rebuild.SHOWN", 3)
    for number in range(1, 4):
        await store.record_match(a_match(number, "ada", "bo"))
    await database.transact(lambda connection: _run(connection, delete(sink_postings)))
    await database.transact(
        lambda connection: _run(connection, update(history).values(delta_milli=1))
    )
    result = await rebuilt(store)
    assert (len(result.differences), result.found > 10) == (3, True)


async def test_pages_of_players_and_events_join_up(
    played: RatingStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small a page is, nobody is left out or compared twice."""
    monkeypatch.setattr("services.rating.rebuild._PLAYERS", 2)
    monkeypatch.setattr("services.rating.rerating._PAGE", 1)
    assert (await rebuilt(played)).differences == []
    statement = update(ratings).where(ratings.c.section != 0).values(rating_milli=5)
    await database.transact(lambda connection: _run(connection, statement))
    result = await rebuilt(played)
    wrong = [each for each in result.differences if each.kind is Kind.RATING]
    # Four players on two ladders, two of them on the third; then on two in the second season.
    assert len(wrong) == len(set(wrong)) == 4 + 4 + 2 + 4 + 4


def _run(connection: Connection, statement: Executable) -> None:
    connection.execute(statement)
