"""A finished round is read alone by its place in the index, and its answer is kept."""

import asyncio
from collections.abc import Sequence

import pytest
from sqlalchemy import delete

from okey.api.engine.v1 import engine_pb2
from okey.table import events as e
from okey_runtime.database import Database
from services.engine.appending import Append
from services.engine.archive import Archive
from services.engine.errors import NoSuchRound, RoundNotEnded, RowNotReadable
from services.engine.finished_round import FinishedRounds, RoundEntry, RoundKey, marks_of
from services.engine.journal import Journal
from services.engine.record import Row, encode_events
from services.engine.schema import journal as stored
from services.engine.schema import rounds
from tests.unit.engine.test_old_events import newer_event
from tests.walk import Step, table_named, walk

ROWS = 200
SEEDS = {"canak-2": 9, "klasik-2": 2, "esli": 6}
"""Walks in which several rounds end."""


class Watched(Journal):
    """A journal that notes which rows are read, as (after, last)."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.reads: list[tuple[int, int | None]] = []

    async def rows(self, table_id: str, after: int = 0, last: int | None = None) -> list[Row]:
        self.reads.append((after, last))
        return await super().rows(table_id, after, last)


async def written(journal: Journal, kind: str) -> list[Step]:
    """A table's whole walk in the journal."""
    steps = list(walk(table_named(kind), SEEDS[kind], ROWS))
    for step in steps:
        row = step.row
        marks = marks_of(step.before, step.after, row.events)
        table_id = step.after.config.table_id
        append = Append(table_id, row.seq, row.at_ms, encode_events(row.events), rounds=marks)
        assert await journal.append([append]) == [None]
    return steps


def ended(steps: Sequence[Step]) -> list[RoundKey]:
    """Every finished round of the walk."""
    return [
        RoundKey(step.after.config.table_id, step.before.match_no, event.round_no)
        for step in steps
        for event in step.row.events
        if isinstance(event, e.RoundEnded) and step.before is not None
    ]


@pytest.mark.parametrize("kind", SEEDS)
async def test_the_index_gives_what_all_rows_give(engine_database: Database, kind: str) -> None:
    journal = Watched(engine_database)
    found = ended(await written(journal, kind))
    assert len(found) > 1
    by_index = [await FinishedRounds(journal).answer(key) for key in found]
    spans = list(journal.reads)
    await engine_database.transact(lambda c: c.execute(delete(rounds)))
    by_all_rows = [await FinishedRounds(journal).answer(key) for key in found]
    assert by_index == by_all_rows
    assert all(last is not None for _, last in spans)
    answers = map(engine_pb2.ListEventsResponse.FromString, by_index)
    for answer, (after, last) in zip(answers, spans, strict=True):
        assert [answer.rows[0].seq, answer.rows[-1].seq] == [after + 1, last]


async def test_a_round_with_a_row_of_a_newer_engine_is_refused_with_a_reason(
    engine_database: Database,
) -> None:
    journal = Watched(engine_database)
    key = ended(await written(journal, "klasik-2"))[0]
    entry = await journal.round_entry(key)
    assert entry is not None
    in_it = (stored.c.table_id == key.table_id) & (stored.c.seq == entry.last_seq)
    newer = stored.update().where(in_it).values(payload=newer_event())
    await engine_database.transact(lambda c: c.execute(newer))
    with pytest.raises(RowNotReadable, match=key.table_id):
        await FinishedRounds(journal).answer(key)


async def test_an_answer_is_read_once_and_kept(engine_database: Database) -> None:
    journal = Watched(engine_database)
    key = ended(await written(journal, "klasik-2"))[0]
    finished = FinishedRounds(journal)
    first, second = await asyncio.gather(finished.answer(key), finished.answer(key))
    assert first == second == await finished.answer(key)
    assert len(journal.reads) == 1


async def test_kept_answers_are_bounded_in_bytes(engine_database: Database) -> None:
    journal = Watched(engine_database)
    one, two, *_ = ended(await written(journal, "klasik-2"))
    size = len(await FinishedRounds(journal).answer(one))
    finished = FinishedRounds(journal, kept_bytes=size)
    journal.reads.clear()
    for key in (one, one, two, one):
        await finished.answer(key)
    assert len(journal.reads) == 3


async def test_a_running_round_is_read_by_nobody(engine_database: Database) -> None:
    journal = Watched(engine_database)
    steps = await written(journal, "klasik-2")
    key = ended(steps)[0]
    entry = await journal.round_entry(key)
    assert isinstance(entry, RoundEntry)
    await engine_database.transact(lambda c: c.execute(rounds.update().values(last_seq=None)))
    with pytest.raises(RoundNotEnded):
        await FinishedRounds(journal).answer(key)
    assert journal.reads == []
    with pytest.raises(NoSuchRound):
        await FinishedRounds(journal).answer(key._replace(match_no=99))


async def test_a_round_of_an_archived_table_is_the_same(engine_database: Database) -> None:
    journal = Watched(engine_database)
    steps = await written(journal, "canak-2")
    found = ended(steps)
    before = [await FinishedRounds(journal).answer(key) for key in found]
    await Archive(engine_database).move(steps[-1].after.config.table_id, 1)
    assert [await FinishedRounds(journal).answer(key) for key in found] == before
