"""Journals that earlier versions wrote replay to the same states, and newer ones are not guessed
at.
"""

from pathlib import Path

import pytest

from okey.api.journal.v1 import journal_pb2
from okey.table.events import CountdownCancelled, CountdownStarted
from okey.table.evolve import evolve
from okey.table.state import SeatStatus, TableState
from okey_runtime.codec import UndecodableMessage
from services.engine.appending import Append
from services.engine.record import decode_events, encode_events
from tests.corpus import (
    digest_of,
    everything,
    generations,
    journals,
    rows,
    shape_of,
    shown_in,
)
from tests.unit.engine.world import until, world_in

JOURNALS = [journal for generation in generations() for journal in journals(generation)]
VARINT_FIELD_900 = b"\xa0\x38\x07"


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_journal_replays_row_by_row_to_the_states_of_its_day(journal: Path) -> None:
    shape = shape_of(journal.parent)
    state: TableState | None = None
    for row in rows(journal):
        for event in decode_events(row.payload):
            state = evolve(state, event)
        assert state is not None
        assert digest_of(state, shape) == row.digest, f"row {row.seq}"
    assert state is not None
    assert state.is_done


def test_the_corpus_holds_every_event_and_every_later_field() -> None:
    """A new event or field needs a new generation: ``python -m tests.corpus <date>``."""
    stored = [row.payload for each in JOURNALS for row in rows(each)]
    assert shown_in(e for payload in stored for e in decode_events(payload)) == everything()


def newer_event() -> bytes:
    """A row with an event that only a newer version knows."""
    stored = journal_pb2.StoredEvent.FromString(VARINT_FIELD_900)
    return journal_pb2.Record(events=[stored]).SerializeToString()


def newer_field() -> bytes:
    """A row with a known event that has a field which only a newer version knows."""
    record = journal_pb2.Record.FromString(encode_events([CountdownStarted(5)]))
    record.events[0].countdown_started.MergeFromString(VARINT_FIELD_900)
    return record.SerializeToString()


@pytest.mark.parametrize("payload", [newer_event(), newer_field()], ids=["event", "field"])
def test_what_a_newer_version_wrote_is_refused_not_half_read(payload: bytes) -> None:
    with pytest.raises(UndecodableMessage):
        decode_events(payload)
    assert decode_events(encode_events([CountdownCancelled()])) == (CountdownCancelled(),)


@pytest.mark.parametrize("payload", [newer_event(), newer_field()], ids=["event", "field"])
async def test_a_table_of_a_newer_version_stands_still_and_the_engine_starts(
    tmp_path: Path, payload: bytes
) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        newer = Append(actor.table_id, actor.seq + 1, at_ms=1, payload=payload)
        assert await world.journal.append([newer]) == [None]
        await world.crash()
        await world.boot()
        assert world.tables.quarantine.tables.keys() == {actor.table_id}
