"""What the engine keeps beside the journal, on every database: archive, snapshots, operators."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, func, select, update

from okey_runtime.database import Database
from services.engine import schema
from services.engine.appending import Append
from services.engine.archive import Archive
from services.engine.journal import Journal, Registered, Unretired
from services.engine.operators import Operators, Stopped, Voided
from services.engine.record import encode_events
from services.engine.snapshots import Snapshot, Snapshots, encode_snapshot
from tests.walk import Step, table_named, walk

A, B = "a" * 26, "b" * 26
DAY_MS = 24 * 3_600_000


@pytest.fixture
def journal(engine_database: Database) -> Journal:
    return Journal(engine_database)


async def closed(journal: Journal, seed: int) -> list[Step]:
    """A Klasik table that lived and closed; nothing is left to tell of it."""
    config = table_named("klasik-2", seed)
    steps = list(walk(config, seed, 400))
    assert steps[-1].after.is_done
    for step in steps:
        row = step.row
        append = Append(
            config.table_id,
            row.seq,
            row.at_ms,
            encode_events(row.events),
            row.request,
            is_last=step.after.is_done,
        )
        assert await journal.append([append]) == [None]
    await journal.retire(config.table_id)
    return steps


async def count(database: Database, table_id: str) -> int:
    query = select(func.count()).where(schema.journal.c.table_id == table_id)
    return await database.read(lambda c: c.execute(query).scalar()) or 0


async def test_an_archived_table_reads_as_before(engine_database: Database) -> None:
    """Rows leave the journal and nobody who reads them can tell."""
    journal, archive = Journal(engine_database), Archive(engine_database)
    steps = await closed(journal, 2)
    table_id, last = steps[0].after.config.table_id, steps[-1].row
    before = await journal.rows(table_id)
    assert [row.events for row in before] == [step.row.events for step in steps]
    assert await archive.due(last.at_ms, 10) == []
    assert await archive.due(last.at_ms + 1, 10) == [table_id]
    await archive.move(table_id, last.at_ms + DAY_MS)
    assert await count(engine_database, table_id) == 0
    after = await journal.rows(table_id)
    assert after == before
    assert [row.payload for row in after] == [row.payload for row in before]
    assert await journal.rows(table_id, after=last.seq - 1) == before[-1:]
    assert await journal.registered(table_id) == Registered(table_id, before[0].at_ms, True)
    assert await journal.table_ids("", 10) == [table_id], "audits still find it"
    assert await archive.due(last.at_ms + DAY_MS, 10) == []


async def test_a_table_is_archived_once_and_a_twin_is_not_made(engine_database: Database) -> None:
    journal, archive = Journal(engine_database), Archive(engine_database)
    steps = await closed(journal, 2)
    table_id = steps[0].after.config.table_id
    before = await journal.rows(table_id)
    await archive.move(table_id, 5)
    await archive.move(table_id, 6)
    again = Append(table_id, 1, 7, encode_events(steps[0].row.events))
    [verdict] = await journal.append([again])
    assert verdict is not None
    assert await journal.rows(table_id) == before


async def test_tables_with_something_left_to_do_are_not_archived(journal: Journal) -> None:
    payload = encode_events(next(walk(table_named("solo"), 1, 1)).row.events)
    await journal.append([Append(A, 1, 5, payload), Append(B, 1, 5, payload)])
    await journal.append([Append(B, 2, 6, payload, is_last=True)])
    archive = Archive(journal._database)
    assert await archive.due(DAY_MS, 10) == [], "one is open, of the other the wallet is not told"
    await journal.retire(B)
    assert await archive.due(DAY_MS, 10) == [B]


def taken(step: Step) -> Snapshot:
    return Snapshot(step.row.seq, step.row.at_ms, 1, step.after, 0, 0, {"hold": "HELD"})


async def test_the_newest_snapshot_is_kept(engine_database: Database) -> None:
    journal, snapshots = Journal(engine_database), Snapshots(engine_database)
    steps = list(walk(table_named("klasik-4"), 2, 30))
    table_id = steps[0].after.config.table_id
    await journal.append([Append(table_id, 1, 1, encode_events(steps[0].row.events))])
    assert await snapshots.newest(table_id) is None
    for step in (steps[10], steps[20]):
        await snapshots.keep([taken(step)])
    assert await snapshots.newest(table_id) == taken(steps[20])
    await journal.retire(table_id)
    assert await snapshots.newest(table_id) is None


@pytest.mark.parametrize("change", [{"version": "other"}, {"payload": b"{]"}, {"seq": 7}])
async def test_a_snapshot_that_cannot_be_used_is_none(
    engine_database: Database, change: dict[str, object]
) -> None:
    """Another version, unreadable, or not of the row that it says."""
    journal, snapshots = Journal(engine_database), Snapshots(engine_database)
    step = list(walk(table_named("klasik-4"), 2, 30))[-1]
    table_id = step.after.config.table_id
    await journal.append([Append(table_id, 1, 1, encode_events(step.row.events))])
    await snapshots.keep([taken(step)])

    def tamper(connection: Connection) -> None:
        connection.execute(update(schema.snapshots).values(**change))

    assert await snapshots.newest(table_id) is not None
    await engine_database.transact(tamper)
    assert await snapshots.newest(table_id) is None


async def test_a_snapshot_that_was_changed_is_none(engine_database: Database) -> None:
    """Also where it can still be read: the rows say what is so."""
    journal, snapshots = Journal(engine_database), Snapshots(engine_database)
    step = list(walk(table_named("klasik-4"), 2, 30))[-1]
    table_id = step.after.config.table_id
    await journal.append([Append(table_id, 1, 1, encode_events(step.row.events))])
    await snapshots.keep([taken(step)])
    assert await snapshots.newest(table_id) == taken(step)
    other = replace(step.after, match_no=step.after.match_no + 1)
    changed = encode_snapshot(replace(taken(step), state=other))

    def tamper(connection: Connection) -> None:
        connection.execute(update(schema.snapshots).values(payload=changed))

    await engine_database.transact(tamper)
    assert await snapshots.newest(table_id) is None


async def test_maintenance_is_kept(engine_database: Database) -> None:
    operators = Operators(engine_database)
    assert not await operators.is_maintenance()
    await operators.set_maintenance(True, "olga", 1)
    assert await operators.is_maintenance()
    await operators.set_maintenance(False, "olga", 2)
    assert not await operators.is_maintenance()


async def test_who_stands_still_is_kept_with_the_first_reason(journal: Journal) -> None:
    operators = Operators(journal._database)
    payload = encode_events(next(walk(table_named("solo"), 1, 1)).row.events)
    await journal.append([Append(A, 1, 5, payload)])
    await operators.stop(A, Stopped(7, "audit: a finding"))
    await operators.stop(A, Stopped(8, "another"))
    assert await operators.stopped() == {A: Stopped(7, "audit: a finding")}
    await operators.lift(A)
    assert await operators.stopped() == {}


async def test_a_voided_table_is_closed_and_its_players_are_free(journal: Journal) -> None:
    """M10, W3: past the journal, since its rows do not replay."""
    operators = Operators(journal._database)
    await journal.append([Append(A, 1, 5, b"\xff", joined=("anna",)), Append(B, 1, 5, b"\xff")])
    asked = Voided(7, "olga", "broken", (f"{A}-1", f"{A}-2"), False)
    assert await operators.voided(A) is None
    assert await operators.begin_void(A, asked) == asked
    assert await operators.begin_void(A, replace(asked, reason="again")) == asked
    await operators.finish_void(A, 9)
    assert await operators.voided(A) == replace(asked, is_done=True)
    assert await journal.seated_at("anna") == ""
    assert await journal.unretired("", 10) == [Unretired(B, 0)]
    assert await journal.registered(A) == Registered(A, 5, True)
