"""Two engines on one database and one time: take-overs, and what an old owner still does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from okey_runtime.database import DatabaseAway
from services.engine.appending import Append
from services.engine.errors import EventNotReadable, NotOwner, StandsStill, TableReloading
from services.engine.record import EVERY_KIND, EventKinds, encode_events
from services.engine.schema import shards
from services.engine.shards import shard_of
from services.engine.watching import StreamEndReason
from tests.unit.engine.world import (
    RENEW_EVERY_MS,
    TABLE_ID,
    World,
    mover,
    next_of,
    plain_move,
    turn_of,
)

LEASE_MS = 30_000
WITHOUT_DISCARDS = EventKinds(["TileDiscarded"]).known


class Two:
    def __init__(self, one: World, two: World) -> None:
        self.one = one
        self.two = two
        self.passing: list[World] = [one, two]

    async def pass_ms(self, ms: int) -> None:
        """Let time pass for both, or for those that can notice it."""
        for _ in range(0, ms, 250):
            self.one.clock.advance_ms(250)
            for world in self.passing:
                await world.settled()
                await world.journal.answered()


@asynccontextmanager
async def two_in(folder: Path) -> AsyncIterator[Two]:
    one = World(folder, "one", lease_ms=LEASE_MS)
    two = World(folder, "two", beside=one, lease_ms=LEASE_MS)
    await one.start()
    one.members.pin_all()
    await one.sharing.look()
    await two.start()
    try:
        yield Two(one, two)
    finally:
        await two.stop()
        await one.stop()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Two]:
    async with two_in(tmp_path) as made:
        yield made


async def test_an_old_owner_between_deciding_and_appending_is_refused(pair: Two) -> None:
    """The take-over has the place: what was decided before it does not count."""
    actor = await pair.one.dealt()
    seq = actor.seq
    pair.one.journal.hold()
    moving = actor.ask(plain_move(actor), pair.one.request(mover(actor)))
    await pair.one.settled()
    pair.one.members.kill("one")
    await pair.two.sharing.look()
    taken = await pair.two.tables.get(TABLE_ID)
    assert taken.seq == seq + 1
    pair.one.journal.let_go()
    with pytest.raises(TableReloading):
        await moving
    rows = await pair.two.journal.rows(TABLE_ID)
    assert [row.seq for row in rows] == list(range(1, seq + 2))
    await taken.submit(plain_move(taken), pair.two.request(mover(taken)))
    await pair.one.sharing.look()
    with pytest.raises(NotOwner):
        await pair.one.tables.get(TABLE_ID)


async def test_a_row_that_the_old_owner_writes_before_the_take_over_counts(pair: Two) -> None:
    """The new owner has the shard, but has not loaded the table: what it loads has the row."""
    actor = await pair.one.dealt()
    pair.two.journal.stuck = {TABLE_ID}
    pair.one.members.kill("one")
    await pair.two.sharing.look()
    await pair.two.journal.is_stuck.wait()
    accepted = await actor.submit(plain_move(actor), pair.one.request(mover(actor)))
    pair.two.journal.stuck = set()
    pair.two.journal.unstuck.set()
    taken = await pair.two.tables.get(TABLE_ID)
    assert taken.seq == accepted.seq + 1


async def test_no_table_is_made_behind_the_new_owners_back(pair: Two) -> None:
    """A first row has no place that could be taken: the shard's owner decides."""
    first = await pair.one.dealt()
    [opening, *_] = await pair.one.journal.rows(TABLE_ID)
    other = TABLE_ID[:2] + "z" * 24
    await pair.one.database.transact(lambda c: _give(c, shard_of(TABLE_ID), "two"))
    row = Append(other, 1, opening.at_ms, encode_events(opening.events))
    assert await pair.one.journal.append([row]) != [None]
    assert await pair.two.journal.append([row]) == [None]
    assert first.seq


async def test_nobody_is_shown_a_table_whose_lease_has_ended(pair: Two) -> None:
    """Cut off from the database alone: streams end, looks are refused, the other one goes on."""
    actor = await pair.one.dealt()
    left_ms = turn_of(actor).deadline_ms - pair.one.steady.now_ms()
    watcher = actor.watchers.add("", with_view=False)
    pair.one.journal.is_away = True
    await pair.pass_ms(LEASE_MS + RENEW_EVERY_MS)
    with pytest.raises(StandsStill):
        await pair.one.tables.get(TABLE_ID)
    while not isinstance(given := await next_of(watcher), int):
        pass
    assert given == StreamEndReason.STREAM_END_REASON_NOT_OWNER
    await pair.two.sharing.look()
    taken = await pair.two.tables.get(TABLE_ID)
    now_left_ms = turn_of(taken).deadline_ms - pair.two.steady.now_ms()
    assert left_ms - 2 * RENEW_EVERY_MS <= now_left_ms <= 60_000
    pair.one.members.pin_all()
    await pair.two.sharing.look()
    pair.one.journal.is_away = False
    await pair.one.sharing.look()
    with pytest.raises(NotOwner) as refused:
        await pair.one.tables.get(TABLE_ID)
    assert refused.value.address == "two"


async def test_a_lost_table_is_not_taken_back_from_its_new_owner(pair: Two) -> None:
    """Whoever meets a row that is there looks who has the table before it loads anything."""
    actor = await pair.one.dealt()
    pair.one.members.kill("one")
    await pair.two.sharing.look()
    taken = await pair.two.tables.get(TABLE_ID)
    with pytest.raises(TableReloading):
        await actor.submit(plain_move(actor), pair.one.request(mover(actor)))
    await pair.one.tables.check_owner()
    assert not pair.one.ownership.has(TABLE_ID)
    assert taken.seq == (await pair.two.journal.rows(TABLE_ID))[-1].seq


async def test_what_an_engine_cannot_read_is_not_written(pair: Two) -> None:
    """While an engine of the version before is a member, and no longer."""
    actor = await pair.one.dealt()
    pair.one.members.teach("two", WITHOUT_DISCARDS)
    await pair.one.sharing.look()
    with pytest.raises(EventNotReadable):
        await actor.submit(plain_move(actor), pair.one.request(mover(actor)))
    pair.one.members.teach("two", EVERY_KIND)
    await pair.one.sharing.look()
    assert (await actor.submit(plain_move(actor), pair.one.request(mover(actor)))).events


def _give(connection: Connection, shard: int, engine: str) -> None:
    connection.execute(update(shards).where(shards.c.shard == shard).values(owner=engine))


@pytest.mark.parametrize("is_given", [None, False], ids=["no answer", "refused"])
async def test_a_hand_over_that_fails_costs_no_clock_anything(
    pair: Two, monkeypatch: pytest.MonkeyPatch, is_given: bool | None
) -> None:
    """U4: from the moment at which the tables decide no more until they are loaded again."""
    actor = await pair.one.dealt()
    left_ms = turn_of(actor).deadline_ms - pair.one.steady.now_ms()

    async def failing(*_: object, **__: object) -> bool:
        if is_given is None:
            raise DatabaseAway("the database went away")
        return is_given

    monkeypatch.setattr(pair.one.members, "hand_over", failing)
    with nullcontext() if is_given is False else pytest.raises(DatabaseAway):
        assert not await pair.one.sharing.hand_over({shard_of(TABLE_ID)}, "two")
    pair.one.clock.advance_ms(5_000)
    await pair.one.sharing.look()
    again = await pair.one.tables.get(TABLE_ID)
    assert turn_of(again).deadline_ms - pair.one.steady.now_ms() == left_ms


async def test_who_takes_over_after_a_failed_hand_over_knows_since_when_clocks_stood(
    pair: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U4: the old owner renews its lease before its table is loaded again, and dies then."""
    actor = await pair.one.dealt()
    left_ms = turn_of(actor).deadline_ms - pair.one.steady.now_ms()
    monkeypatch.setattr(pair.one.members, "hand_over", _refuses)
    assert not await pair.one.sharing.hand_over({shard_of(TABLE_ID)}, "two")
    pair.one.journal.stuck = {TABLE_ID}
    for _ in range(3):
        pair.one.clock.advance_ms(2_000)
        await pair.one.sharing.look()
    pair.one.journal.is_away = True
    pair.one.members.kill("one")
    await pair.two.sharing.look()
    taken = await pair.two.tables.get(TABLE_ID)
    assert turn_of(taken).deadline_ms - pair.two.steady.now_ms() == left_ms


async def _refuses(*_: object, **__: object) -> bool:
    return False
