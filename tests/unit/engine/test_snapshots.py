"""A snapshot and the rows after it come to what all rows come to; without one all goes the same."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection

from okey.table import commands as c
from okey.table.state import Phase, TableState
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from services.engine.actor import Change, TableActor
from services.engine.app import MIGRATIONS
from services.engine.appending import Append, append_batch
from services.engine.group_commit import GroupCommit
from services.engine.journal import Journal
from services.engine.loading import Loader
from services.engine.record import Row, encode_events
from services.engine.snapshots import (
    Snapshot,
    Snapshots,
    decode_snapshot,
    encode_snapshot,
    folding_version,
)
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from tests.unit.engine.doubles import AWAY
from tests.unit.engine.world import mover, plain_move, until, world_in
from tests.walk import KINDS, Step, table_named, walk

SEEDS = {"canak-2": 5, "canak-4": 39, "solo": 13, "esli": 2, "klasik-2": 8, "klasik-4": 12}
CUTS = 8


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    url = f"sqlite:///{tmp_path / 'engine.db'}"
    await migrate(url, MIGRATIONS)
    opened = Database(url)
    yield opened
    await opened.close()


def new_actor(table_id: str, journal: Journal) -> TableActor:
    clock = SteadyClock(VirtualClock())
    commit = GroupCommit(journal, clock)
    still = Standstill(clock, stall_ms=2_000)
    return TableActor(table_id, clock, commit, lambda *_: None, lambda _: None, still)


async def journaled(database: Database, steps: list[Step]) -> str:
    table_id = steps[0].after.config.table_id

    def write(connection: Connection) -> None:
        for row in (step.row for step in steps):
            payload = encode_events(row.events)
            append_batch(connection, [Append(table_id, row.seq, row.at_ms, payload, row.request)])

    await database.transact(write)
    return table_id


def memory(actor: TableActor, steps: list[Step]) -> list[object]:
    """Everything that an actor knows, and what it answers to every request that ever was."""
    requests = [step.row.request for step in steps if step.row.request is not None]
    known = [actor._requests.find(request) for request in requests]
    last = actor.snapshot(0)
    return [actor.state, repr(actor.state), actor.seq, actor.created_ms, last, known]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_snapshot_and_the_rows_after_it_come_to_what_all_rows_do(
    database: Database, kind: str
) -> None:
    """At any row of a walk through everything: state, requests, stakes, cursor."""
    journal, snapshots = Journal(database), Snapshots(database)
    steps = list(walk(table_named(kind, SEEDS[kind]), SEEDS[kind], 300))
    table_id = await journaled(database, steps)
    loader = Loader(journal)
    whole = new_actor(table_id, journal)
    assert (await loader.load(whole)).snapshot_seq == 0
    wanted = memory(whole, steps)
    assert len(steps) > 2 * CUTS
    for seq in sorted(Random(kind).sample(range(1, len(steps) + 1), CUTS)):
        earlier = new_actor(table_id, journal)
        for step in steps[:seq]:
            payload = encode_events(step.row.events)
            row = Row(step.row.seq, step.row.at_ms, step.row.events, step.row.request, payload)
            earlier.restore(Change(step.before, step.after, row))
        await snapshots.keep([earlier.snapshot(steps[seq - 1].row.at_ms)])
        resumed = new_actor(table_id, journal)
        loaded = await loader.load(resumed)
        assert loaded.snapshot_seq == seq
        assert len(loaded.changes) == len(steps) - seq
        assert loaded.last_ms == steps[-1].row.at_ms
        assert memory(resumed, steps) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_of_a_walk_survives_the_snapshot(kind: str) -> None:
    for step in walk(table_named(kind, SEEDS[kind]), SEEDS[kind], 300):
        made = Snapshot(step.row.seq, step.row.at_ms, 1, step.after, 0, 0, {})
        again = decode_snapshot(encode_snapshot(made))
        assert again == made
        assert repr(again) == repr(made), "enums and bytes too"


async def test_a_snapshot_that_the_journal_does_not_bear_out_is_passed_over(
    database: Database,
) -> None:
    """Of a row that is not there, or one after which the next rows cannot follow."""
    journal, snapshots = Journal(database), Snapshots(database)
    steps = list(walk(table_named("klasik-4", 3), 3, 60))
    table_id = await journaled(database, steps[:40])
    loader = Loader(journal)
    in_round = next(step for step in steps[20:30] if step.after.round is not None)
    later, wrong = steps[-1], steps[0]
    for seq, state in ((later.row.seq, later.after), (in_round.row.seq, wrong.after)):
        await snapshots.keep([Snapshot(seq, 1, 1, state, 0, 0, {})])
        actor = new_actor(table_id, journal)
        assert (await loader.load(actor)).snapshot_seq == 0
        assert (actor.state, actor.seq) == (steps[39].after, 40)


def test_the_version_is_of_the_code_that_folds() -> None:
    assert len(folding_version()) == 64
    assert folding_version() == folding_version()


async def test_a_long_table_starts_from_its_snapshot_and_answers_old_requests(
    tmp_path: Path,
) -> None:
    """After a crash: the same request gets the same answer, though its row is not folded again."""
    async with world_in(tmp_path) as world:
        world.snapshot_every_rows = 5
        await world.crash()
        await world.boot()
        actor = await world.dealt()
        player, move = mover(actor), plain_move(actor)
        first = world.request(player, "draw")
        seq = (await actor.submit(move, first)).seq
        for _ in range(12):
            await actor.submit(plain_move(actor), world.request(mover(actor)))
        await world.tables.snapshotter.write()
        newest = await Snapshots(world.database, world.journal.seals).newest(actor.table_id)
        assert newest is not None
        assert seq < newest.seq <= actor.seq
        await world.crash()
        await world.boot()
        again = await world.tables.get(actor.table_id)
        assert (await again.submit(move, first)).seq == seq
        assert again.table.round is not None
        assert again.table.round.hands == actor.table.round.hands if actor.table.round else False
        assert again.watchers.missed("", seq - 1, again.seq, 0, {}) is None, "before the snapshot"
        await again.submit(plain_move(again), world.request(mover(again)))


async def test_no_snapshot_is_taken_while_a_sink_waits(tmp_path: Path) -> None:
    """What a sink was not told of is told from the rows themselves."""
    async with world_in(tmp_path) as world:
        world.snapshot_every_rows = 1
        await world.crash()
        await world.boot()
        world.wallet.script.always = AWAY
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await world.tables.snapshotter.write()
        assert await Snapshots(world.database, world.journal.seals).newest(actor.table_id) is None
        world.wallet.script.always = None
        await until(actor, is_counting_down)
        await world.pass_countdown(actor)
        async with asyncio.timeout(10):
            while (
                await Snapshots(world.database, world.journal.seals).newest(actor.table_id) is None
            ):
                await actor.submit(plain_move(actor), world.request(mover(actor)))
                await world.tables.snapshotter.write()


def is_counting_down(state: TableState) -> bool:
    return state.phase is Phase.COUNTDOWN
