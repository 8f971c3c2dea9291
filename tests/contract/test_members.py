"""Members, leases and shards: the same on SQLite, on PostgreSQL and in memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from services.engine.app import MIGRATIONS
from services.engine.members import Members, Membership, Myself, NameTaken, NoMember
from services.engine.shards import SHARD_COUNT, Board
from tests.fixtures.postgres import postgres_server, postgres_url
from tests.members import MemoryMembers

__all__ = ["postgres_server", "postgres_url"]

LEASE_MS = 6_000
START_MS = 1_000_000


class Board4:
    """A membership whose database's clock is turned by hand; engines say what time they like."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.members: Membership = MemoryMembers(lambda: self.now_ms, LEASE_MS)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def board(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Board4]:
    made = Board4()
    if request.param == "memory":
        yield made
        return
    url = f"sqlite:///{tmp_path / 'engine.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    await migrate(url, MIGRATIONS)
    database = Database(url)
    made.members = Members(database, LEASE_MS, lambda _: made.now_ms)
    yield made
    await database.close()


def engine(name: str, run: str = "1", address: str = "") -> Myself:
    return Myself(name, address or f"{name}:1", run, frozenset({1, 2}))


A, B, C = engine("a"), engine("b"), engine("c")


def counts(board: Board) -> dict[str, int]:
    return {name: len(board.shards_of(name)) for name in board.members}


async def test_the_first_engine_takes_everything_and_keeps_what_is_right(board: Board4) -> None:
    joined = await board.members.join(A)
    assert counts(joined) == {"a": SHARD_COUNT}
    assert {place.since_ms for place in joined.places} == {0}
    settled = await board.members.renew(A, board.now_ms, range(SHARD_COUNT))
    assert {place.since_ms for place in settled.places} == {None}
    assert settled.members["a"].events == frozenset({1, 2})


async def test_one_that_joins_others_takes_nothing_before_it_serves(board: Board4) -> None:
    await board.members.join(A)
    joined = await board.members.join(B)
    assert counts(joined) == {"a": SHARD_COUNT, "b": 0}
    assert not await board.members.hand_over(A, {7}, "b", board.now_ms), "it does not take any"
    await board.members.renew(B, board.now_ms)
    assert await board.members.hand_over(A, {7, 8}, "b", 77)
    seen = await board.members.board()
    assert counts(seen) == {"a": SHARD_COUNT - 2, "b": 2}
    assert not await board.members.hand_over(A, {7}, "b", board.now_ms), "it is not A's any more"


async def test_what_is_pinned_stays_with_its_owner_and_its_clocks_go_on(board: Board4) -> None:
    await board.members.join(A)
    await board.members.renew(A, board.now_ms, range(SHARD_COUNT))
    assert await board.members.pin(A, {7, 8})
    await board.members.join(B)
    seen = await board.members.renew(B, board.now_ms)
    assert {shard for shard, place in enumerate(seen.places) if place.is_pinned} == {7, 8}
    assert {seen.places[shard].since_ms for shard in (7, 8)} == {None}
    assert await board.members.hand_over(A, {9}, "b", board.now_ms)
    assert not await board.members.pin(A, {9}), "it is not A's any more"
    assert not await board.members.pin(engine("a", "2"), {7}), "it is another run's"


async def test_a_lease_that_ends_frees_the_shards_for_the_others_in_fair_shares(
    board: Board4,
) -> None:
    """The moment at which its tables were last right goes along."""
    await board.members.join(A)
    await board.members.renew(A, 5_000, range(SHARD_COUNT))
    for other in (B, C):
        await board.members.join(other)
        await board.members.renew(other, board.now_ms)
    board.now_ms += LEASE_MS - 1
    for other in (B, C):
        assert not (await board.members.renew(other, board.now_ms)).shards_of(other.engine)
    board.now_ms += 1
    taken = await board.members.renew(B, board.now_ms)
    assert len(taken.shards_of("b")) == SHARD_COUNT // 2
    taken = await board.members.renew(C, board.now_ms)
    assert len(taken.shards_of("c")) == SHARD_COUNT // 2
    assert {place.since_ms for place in taken.places} == {5_000}


async def test_two_claim_at_the_same_moment_and_each_shard_has_one_owner(board: Board4) -> None:
    await board.members.join(A)
    for other in (B, C):
        await board.members.join(other)
        await board.members.renew(other, board.now_ms)
    board.now_ms += LEASE_MS - 10
    for other in (B, C):
        await board.members.renew(other, board.now_ms)
    board.now_ms += 10
    for _ in range(2):  # a shard that the other one is at just now is not waited for
        await asyncio.gather(*(board.members.renew(m, board.now_ms) for m in (B, C, B, C)))
    assert counts(await board.members.board()) == {"a": 0, "b": 128, "c": 128}


async def test_only_the_databases_clock_counts(board: Board4) -> None:
    """An engine whose own clock is hours ahead or behind neither loses nor keeps anything by it."""
    await board.members.join(A)
    await board.members.renew(A, board.now_ms + 3 * 3_600_000)
    await board.members.join(B)
    await board.members.renew(B, board.now_ms - 3 * 3_600_000)
    board.now_ms += LEASE_MS // 2
    seen = await board.members.renew(B, 0)
    assert seen.is_alive("a")
    assert seen.is_alive("b")
    board.now_ms += LEASE_MS // 2
    seen = await board.members.renew(B, 0)
    assert not seen.is_alive("a")
    assert counts(seen)["b"] == SHARD_COUNT


async def test_who_comes_back_too_late_keeps_what_nobody_took_and_claims_nothing(
    board: Board4,
) -> None:
    """Where the database was away from all, the first one to be back does not take everything."""
    await board.members.join(A)
    await board.members.join(B)
    await board.members.renew(B, board.now_ms)
    assert await board.members.hand_over(A, range(100), "b", board.now_ms)
    board.now_ms += 10 * LEASE_MS
    seen = await board.members.renew(A, board.now_ms)
    assert counts(seen) == {"a": SHARD_COUNT - 100, "b": 100}
    later = await board.members.renew(A, board.now_ms, is_claiming=False)
    assert counts(later)["b"] == 100
    assert counts(await board.members.renew(A, board.now_ms))["a"] == SHARD_COUNT


async def test_a_name_is_one_engines_and_a_new_run_has_what_the_old_one_had(board: Board4) -> None:
    await board.members.join(A)
    await board.members.renew(A, 4_000, range(SHARD_COUNT))
    with pytest.raises(NameTaken, match="a:1"):
        await board.members.join(engine("a", "2", "elsewhere:1"))
    again = engine("a", "2")  # at the same address there cannot be two
    joined = await board.members.join(again)
    assert counts(joined) == {"a": SHARD_COUNT}
    assert {place.since_ms for place in joined.places} == {4_000}
    with pytest.raises(NoMember):
        await board.members.renew(A, board.now_ms)
    assert not await board.members.hand_over(A, {1}, "a", board.now_ms)
    await board.members.leave(A, board.now_ms)
    assert counts(await board.members.board()) == {"a": SHARD_COUNT}, "it is not the old run's"
    board.now_ms += LEASE_MS
    elsewhere = await board.members.join(engine("a", "3", "elsewhere:1"))
    assert elsewhere.members["a"].address == "elsewhere:1"


async def test_who_leaves_is_forgotten_and_its_shards_are_free(board: Board4) -> None:
    await board.members.join(A)
    await board.members.renew(A, board.now_ms, range(SHARD_COUNT))
    await board.members.join(B)
    await board.members.renew(B, board.now_ms)
    await board.members.leave(A, 3_000)
    assert (await board.members.board()).members.keys() == {"b"}
    seen = await board.members.renew(B, board.now_ms)
    assert counts(seen) == {"b": SHARD_COUNT}
    assert {place.since_ms for place in seen.places} == {3_000}
