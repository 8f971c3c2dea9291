"""The copies of boards in a real Valkey: never wrong, whatever is done to them."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from prometheus_client import REGISTRY
from redis.asyncio import Redis
from sqlalchemy import Connection, update

from okey.rating import Ladder
from okey.rules.rule_set import RuleSet
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from okey_runtime.redis import open_redis
from services.rating.board_cache import BoardCache
from services.rating.leaderboard import Leaderboard
from services.rating.place import BoardPage, NotRanked, Place
from services.rating.rulebook import RuleBook
from services.rating.schema import boards
from services.rating.seasons import Season
from services.rating.section import Section
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match, database, database_url
from tests.fixtures.valkey import FailingOver, Valkey

__all__ = ["database", "database_url"]

PREFIX = "okey:{board:1:canak}:"
SECOND = Season(season=2, name="", keep_percent=50, towards_milli=1_200_000, started_ms=7)

# What a copy does has little to do with the kind of database that it is of.
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@dataclass
class World:
    """Two replicas of the service around one database and one Valkey."""

    store: RatingStore
    first: Leaderboard
    second: Leaderboard
    redis: Redis
    matches: int = 0

    async def play(self, *players: str) -> None:
        """The first one wins."""
        self.matches += 1
        await self.store.record_match(a_match(self.matches, *players))

    async def whole(self, board: Leaderboard, section: Section, size: int = 3) -> list[BoardPage]:
        """Every page of the Çanak board."""
        pages, start = [], None
        while True:
            page = await board.page(Ladder.CANAK, section, start, size)
            pages.append(page)
            start = page.next_place
            if start is None:
                return pages

    async def check(self, board: Leaderboard) -> None:
        """All that the board says is what the database says."""
        for section in (Section.ESTABLISHED, Section.PROVISIONAL):
            start: Place | None = None
            for page in await self.whole(board, section):
                assert page == await self.store.page(Ladder.CANAK, section, start, 3)
                start = page.next_place
                for entry in page.entries:
                    asked = (Ladder.CANAK, entry.player_id)
                    assert await board.rank(*asked) == await self.store.rank(*asked)
                    for size in (1, 4):
                        around = await board.page_around(*asked, size)
                        assert around == await self.store.page_around(*asked, size)


def reads(source: str) -> float:
    """Questions answered from there so far, for whatever reason."""
    (family,) = [each for each in REGISTRY.collect() if each.name == "okey_rating_board_reads"]
    return sum(
        sample.value
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels["source"] == source
    )


@pytest.fixture
async def world(database: Database, valkey: Valkey) -> AsyncIterator[World]:
    """Established after two matches, so that both sections fill."""
    store = RatingStore(database, RuleBook(RuleSet(rating_new_matches=2)))
    async with AsyncExitStack() as stack:
        redis = open_redis(valkey.url)
        stack.push_async_callback(redis.aclose)
        first, second = (
            Leaderboard(store, database, BoardCache(redis), VirtualClock()) for _ in range(2)
        )
        yield World(store, first, second, redis)


async def test_a_copy_answers_as_the_database_does(world: World) -> None:
    """Ties, sections, ranks, pages by place and around everybody, after random matches."""
    chance = random.Random(7)
    players = [f"p{number}" for number in range(9)]
    for replica in (world.first, world.second):
        await replica.keep()
    for replica in (world.first, world.second, world.first):
        for _ in range(5):
            await world.play(*chance.sample(players, 2))
        from_database, from_redis = reads("database"), reads("redis")
        await world.check(replica)
        assert reads("database") == from_database
        assert reads("redis") > from_redis + 20


@ON_SQLITE
async def test_a_reader_brings_the_copy_up_to_date_itself(world: World) -> None:
    """No answer is older than the last match that was recorded before the question."""
    await world.first.keep()
    before = reads("redis")
    for number in range(1, 4):
        await world.play("ada", f"loser{number}")
        rank = await world.first.rank(Ladder.CANAK, "ada")
        expected = (await world.store.ratings_of("ada"))[Ladder.CANAK]
        assert rank.entry.standing == expected
        assert expected.rated_matches == number
    assert reads("redis") == before + 3


@ON_SQLITE
async def test_what_is_flushed_is_made_again(world: World) -> None:
    """Until then the database answers."""
    await world.play("ada", "bo")
    await world.first.keep()
    await world.redis.flushall()
    before = reads("database")
    await world.check(world.first)
    assert reads("database") > before
    await world.first.keep()
    before = reads("database")
    await world.check(world.first)
    assert reads("database") == before


@ON_SQLITE
async def test_a_valkey_that_became_a_replica_is_left_for_the_new_primary(
    database: Database, failing_over: FailingOver
) -> None:
    """It lives on and keeps its connections; the copies are made again at the new one."""
    store = RatingStore(database, RuleBook(RuleSet(rating_new_matches=2)))
    redis = open_redis(failing_over.url)
    first, second = (
        Leaderboard(store, database, BoardCache(redis), VirtualClock()) for _ in range(2)
    )
    world = World(store, first, second, redis)
    await world.play("ada", "bo")
    await first.keep()
    await failing_over.fail_over()
    await world.play("cem", "ada")
    await world.check(first)
    await first.keep()
    assert REGISTRY.get_sample_value("okey_rating_board_cache_up") == 1
    before = reads("redis")
    await world.check(first)
    assert reads("redis") > before
    await redis.aclose()


@ON_SQLITE
async def test_a_valkey_that_is_away_changes_no_answer(world: World, valkey: Valkey) -> None:
    """It is asked again in the background only, and used again once it is back, empty."""
    await world.play("ada", "bo")
    await world.first.keep()
    valkey.kill()
    await world.play("cem", "ada")
    await world.check(world.first)
    assert REGISTRY.get_sample_value("okey_rating_board_cache_up") == 0
    await world.first.keep()
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") == before
    valkey.start()
    await world.first.keep()
    assert REGISTRY.get_sample_value("okey_rating_board_cache_up") == 1
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
@pytest.mark.parametrize("key", ["1", "2", "facts"])
async def test_a_copy_that_lost_one_key_answers_nothing_and_is_made_anew(
    world: World, key: str
) -> None:
    """A server short of memory drops single keys."""
    for _ in range(2):
        await world.play("ada", "bo")
    await world.play("ada", "cem")
    await world.first.keep()
    await world.redis.delete(PREFIX + key)
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") == before
    await world.first.keep()
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
@pytest.mark.parametrize("key", ["1", "2", "facts"])
async def test_a_key_of_another_type_is_replaced(world: World, key: str) -> None:
    """Whatever was written there: until then the database answers."""
    for _ in range(2):
        await world.play("ada", "bo")
    await world.play("ada", "cem")
    await world.first.keep()
    await world.redis.set(PREFIX + key, "something else")
    await world.check(world.first)
    await world.play("ada", "bo")
    await world.first.keep()
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
@pytest.mark.parametrize(
    ("field", "value"),
    [("#epoch", b"\xff"), ("#version", b"one"), ("ada", b"many")],
)
async def test_foreign_facts_answer_nothing_and_end_nothing(
    world: World, field: str, value: bytes
) -> None:
    """The background work goes on, because the service would end with it."""
    await world.play("ada", "bo")
    await world.first.keep()
    await world.redis.hset(PREFIX + "facts", field, value)
    await world.check(world.first)
    await world.play("ada", "bo")
    await world.first.keep()
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
async def test_a_restored_older_copy_catches_up(world: World) -> None:
    """What was lost of it since is in the database."""
    await world.play("ada", "bo")
    await world.first.keep()
    old = {key: await world.redis.dump(PREFIX + key) for key in ("2", "facts")}
    for _ in range(3):
        await world.play("bo", "cem")
    await world.first.keep()
    await world.redis.flushall()
    for key, value in old.items():
        assert isinstance(value, bytes)
        await world.redis.restore(PREFIX + key, 0, value)
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
@pytest.mark.parametrize("what", ["epoch", "future"])
async def test_a_copy_of_another_database_is_noticed(
    world: World, database: Database, what: str
) -> None:
    """A restored database starts another epoch, or is behind its copy."""
    await world.play("ada", "bo")
    await world.first.keep()
    await world.redis.zadd(PREFIX + "2", {"ada": 5})
    new = {"epoch": "another"} if what == "epoch" else {"version": 0}

    def restore(connection: Connection) -> None:
        connection.execute(update(boards).values(new))

    await database.transact(restore)
    await world.check(world.first)
    await world.first.keep()
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
async def test_a_new_season_has_a_copy_of_its_own(world: World) -> None:
    """The one before is dropped, and answered from the database."""
    await world.play("ada", "bo")
    await world.first.keep()
    await world.store.start_season(SECOND)
    assert (await world.first.page(Ladder.CANAK, Section.PROVISIONAL, None, 9)).entries == ()
    with pytest.raises(NotRanked, match="season 2"):
        await world.first.rank(Ladder.CANAK, "ada")
    await world.first.keep()
    await world.play("bo", "cem")
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") > before
    assert await world.redis.keys(f"{PREFIX}*") == []
    before = reads("redis")
    named = await world.first.page(Ladder.CANAK, Section.PROVISIONAL, None, 9, season=2)
    assert (named.season, reads("redis")) == (2, before + 1)
    old = await world.first.page(Ladder.CANAK, Section.PROVISIONAL, None, 9, season=1)
    assert reads("redis") == before + 1
    assert [entry.player_id for entry in old.entries] == ["ada", "bo"]
    with pytest.raises(NotRanked, match=r"'ada'.*season 2"):
        await world.first.page_around(Ladder.CANAK, "ada", 3)


async def test_matches_while_a_copy_is_made_are_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Players who come or move behind what was copied already."""
    monkeypatch.setattr("services.rating.leaderboard._BATCH", 1)
    for pair in (("b", "d"), ("f", "h"), ("b", "h")):
        await world.play(*pair)

    async def play_on() -> None:
        for pair in (("a", "z"), ("b", "a"), ("h", "f"), ("c", "b")):
            await world.play(*pair)

    await asyncio.gather(world.first.keep(), play_on(), world.second.keep())
    before = reads("redis")
    await world.check(world.first)
    await world.check(world.second)
    assert reads("redis") > before


@ON_SQLITE
async def test_a_page_goes_on_after_a_player_who_has_moved(world: World) -> None:
    """The place is a rating and an id, not a player: the database finds it."""
    for pair in (("a", "b"), ("c", "d"), ("e", "f")):
        await world.play(*pair)
    await world.first.keep()
    first = await world.first.page(Ladder.CANAK, Section.PROVISIONAL, None, 2)
    assert first.next_place == Place(1_210_000, "c")
    await world.play("c", "x")
    second = await world.first.page(Ladder.CANAK, Section.PROVISIONAL, first.next_place, 2)
    assert [entry.player_id for entry in second.entries] == ["e", "x"]


@ON_SQLITE
async def test_far_behind_a_copy_is_made_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.rating.leaderboard._READER_PLAYERS", 2)
    monkeypatch.setattr("services.rating.leaderboard._KEEPER_PLAYERS", 2)
    monkeypatch.setattr("services.rating.board_state.KEPT_VERSIONS", 3)
    await world.play("ada", "bo")
    await world.first.keep()
    for pair in (("c", "d"), ("e", "f"), ("a", "b"), ("g", "h")):
        await world.play(*pair)
    before = reads("redis")
    await world.check(world.first)
    assert reads("redis") == before
    await world.first.keep()
    await world.check(world.first)
    assert reads("redis") > before


@ON_SQLITE
async def test_without_redis_the_database_answers_alone(world: World, database: Database) -> None:
    alone = Leaderboard(world.store, database, None, VirtualClock())
    await world.play("ada", "bo")
    await alone.keep()
    before = reads("redis")
    await world.check(alone)
    assert reads("redis") == before
