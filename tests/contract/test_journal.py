"""What every engine database does: rows in order, one owner a row, a verdict for each table."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from okey.table.events import CountdownCancelled, SeatPaid
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from services.engine import schema
from services.engine.appending import Append, SitsElsewhere, Taken, Verdict
from services.engine.group_commit import GroupCommit
from services.engine.journal import Journal, Registered, Unretired
from services.engine.record import Request, Row, encode_events
from services.engine.shards import SHARD_COUNT, shard_of

A, B, C = "a" * 26, "b" * 26, "c" * 26
PAYLOAD = encode_events([CountdownCancelled()])


@pytest.fixture
def journal(engine_database: Database) -> Journal:
    return Journal(engine_database)


def row(table_id: str, seq: int, **more: Any) -> Append:
    return replace(Append(table_id, seq, at_ms=1_000 + seq, payload=PAYLOAD), **more)


async def test_the_migrations_make_what_the_schema_names(engine_database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), schema.metadata))

    assert await engine_database.read(differences) == []


async def test_rows_come_back_in_order_with_their_requests(journal: Journal) -> None:
    asked = Request("anna", "request-1", b"\x00" * 32)
    events = (SeatPaid(1, "hold"), CountdownCancelled())
    assert await journal.append([row(A, 1, request=asked)]) == [None]
    assert await journal.append([row(A, 2, payload=encode_events(events))]) == [None]
    assert await journal.rows(A) == [
        Row(1, 1_001, (CountdownCancelled(),), asked),
        Row(2, 1_002, events, None),
    ]
    assert await journal.rows(B) == []


async def test_a_row_is_had_by_one_owner_and_harms_no_other_table(journal: Journal) -> None:
    """The fence: whoever appends second to the same place is told so, others go in."""
    await journal.append([row(A, 1), row(B, 1)])
    await journal.append([row(A, 2)])
    verdicts = await journal.append([row(B, 2), row(A, 2), row(C, 1)])
    assert verdicts == [None, Taken.SEQ, None]
    assert [len(await journal.rows(table)) for table in (A, B, C)] == [2, 2, 1]


async def test_two_owners_in_one_batch_do_not_both_get_the_row(journal: Journal) -> None:
    """The fence holds within one process too: who comes first has it, the other is told so."""
    await journal.append([row(A, 1)])
    first, second = row(A, 2), row(A, 2, payload=encode_events([SeatPaid(1, "hold")]))
    assert await journal.append([first, row(B, 1), second]) == [None, None, Taken.SEQ]
    assert await journal.append([row(A, 3), row(A, 4)]) == [None, Taken.SEQ]
    assert [each.events for each in await journal.rows(A)] == [(CountdownCancelled(),)] * 3


async def test_a_table_is_made_once(journal: Journal) -> None:
    await journal.append([row(A, 1)])
    assert await journal.append([row(A, 1)]) == [Taken.SEQ]


async def test_a_player_sits_once(journal: Journal) -> None:
    """W3: the second table learns where the player sits; nothing of its row stays."""
    await journal.append([row(A, 1, joined=("anna",)), row(B, 1)])
    verdicts = await journal.append([row(B, 2, joined=("anna",)), row(A, 2)])
    assert verdicts == [SitsElsewhere("anna", A), None]
    assert await journal.seated_at("anna") == A
    assert len(await journal.rows(B)) == 1
    assert await journal.append([row(B, 2, joined=("bert",))]) == [None]


async def test_leaving_and_sitting_down_elsewhere_may_come_in_one_batch(journal: Journal) -> None:
    """W3: the seat is free with the row that leaves it."""
    await journal.append([row(A, 1, joined=("anna",))])
    assert await journal.append([row(A, 2, left=("anna",)), row(B, 1, joined=("anna",))]) == [
        None,
        None,
    ]
    assert await journal.seated_at("anna") == B
    assert await journal.append([row(B, 2, left=("anna",), is_last=True)]) == [None]
    assert await journal.seated_at("anna") == ""


async def test_two_players_cannot_take_the_same_place_twice_in_one_batch(journal: Journal) -> None:
    """W3: of two tables in one batch the first gets the player."""
    verdicts = await journal.append(
        [row(A, 1, joined=("anna",)), row(B, 1, joined=("anna",)), row(C, 1)]
    )
    assert verdicts == [None, SitsElsewhere("anna", A), None]


async def test_a_seat_that_a_refused_table_took_is_free_for_another_of_the_batch(
    journal: Journal,
) -> None:
    """W3: A is refused for bert's sake, so anna, whom it wanted too, may sit at B."""
    await journal.append([row(C, 1, joined=("bert",))])
    verdicts = await journal.append(
        [row(A, 1, joined=("anna", "bert")), row(B, 1, joined=("anna",)), row(C, 2)]
    )
    assert verdicts == [SitsElsewhere("bert", C), None, None]
    assert await journal.seated_at("anna") == B
    assert await journal.registered(A) is None


async def test_a_refused_table_loses_no_seat_and_no_place(journal: Journal) -> None:
    """W3: what its row would have freed is not free, and the row can be tried again."""
    await journal.append([row(A, 1, joined=("anna",)), row(B, 1, joined=("bert",))])
    refused = row(A, 2, joined=("bert",), left=("anna",), names=(("bert", "Bert"),))
    assert await journal.append([refused, row(B, 2)]) == [SitsElsewhere("bert", B), None]
    assert await journal.seated_at("anna") == A
    assert await journal.names(["bert"]) == {}
    assert await journal.append([row(A, 2)]) == [None]


async def test_a_row_that_came_too_late_seats_and_frees_nobody(journal: Journal) -> None:
    """W3: the fence holds for seats, names and the closing too."""
    await journal.append([row(A, 1, joined=("anna",)), row(B, 1)])
    await journal.append([row(A, 2)])
    late = row(A, 2, joined=("bert",), left=("anna",), names=(("bert", "B"),), is_last=True)
    assert await journal.append([late, row(B, 2, joined=("carl",))]) == [Taken.SEQ, None]
    assert [await journal.seated_at(each) for each in ("anna", "bert", "carl")] == [A, "", B]
    assert await journal.names(["bert"]) == {}
    assert await journal.registered(A) == Registered(A, 1_001, False)


async def test_the_registry_tells_what_is_left_to_do(journal: Journal) -> None:
    await journal.append([row(A, 1), row(B, 1), row(C, 1)])
    await journal.append([row(A, 2, deadline_ms=77), row(B, 2, is_last=True)])
    await journal.append([row(C, 2, is_last=True)])
    await journal.retire(C)
    playing, closed = Unretired(A, 77), Unretired(B, 0)
    assert await journal.unretired("", 10) == [playing, closed]
    assert await journal.unretired(A, 1) == [closed]
    assert await journal.registered(C) == Registered(C, 1_001, True)
    assert await journal.registered("d" * 26) is None


async def test_what_is_left_to_do_is_found_by_shards(journal: Journal) -> None:
    """Neighbours and others, the first and the last, in one question; ids sort by their bytes."""
    ids = [first * 26 for first in "27ajqz"]
    await journal.append([row(table_id, 1) for table_id in ids])
    await journal.retire("7" * 26)
    every = [Unretired(table_id, 0) for table_id in ids if table_id[0] != "7"]
    assert await journal.unretired_in(range(SHARD_COUNT)) == every
    for wanted in ("2", "2a", "2z", "aqz", ""):
        shards = {shard_of(first * 26) for first in wanted} | {SHARD_COUNT // 2 + 1}
        found = [table.table_id[0] for table in await journal.unretired_in(shards)]
        assert found == list(wanted), wanted
    assert await journal.unretired_in([]) == []


async def test_tables_are_read_together_each_with_its_own(journal: Journal) -> None:
    """One that is not there has nothing, and keeps no other from being read."""
    asked = Request("anna", "request-1", b"\x00" * 32)
    unreadable = b"\xff\xff\xff"
    await journal.append([row(A, 1, request=asked), row(B, 1, payload=unreadable)])
    await journal.append([row(A, 2)])
    await journal.checkpoint(A, "wallet", 2)
    found = await journal.stored_tables([A, B, C])
    assert {table_id: len(each.rows) for table_id, each in found.items()} == {A: 2, B: 1, C: 0}
    assert journal.decoded(found[A].rows) == await journal.rows(A)
    assert [each.cursors for each in found.values()] == [{"wallet": 2}, {}, {}]
    assert [each.snapshot for each in found.values()] == [None] * 3
    assert found[B].rows[0].payload == unreadable


async def test_cursors_are_kept_by_sink(journal: Journal) -> None:
    await journal.checkpoint(A, "wallet", 3)
    await journal.checkpoint(A, "wallet", 5)
    await journal.checkpoint(A, "rating", 1)
    await journal.checkpoint(A, "wallet", 4)  # an owner that was paused, and is late
    assert await journal.cursors(A) == {"wallet": 5, "rating": 1}
    assert await journal.cursors(B) == {}


async def test_names_are_kept_with_the_newest_winning(journal: Journal) -> None:
    await journal.append([row(A, 1, names=(("anna", "Anna"),))])
    await journal.append([row(A, 2, names=(("anna", "Änne"), ("bert", "Bert")))])
    assert await journal.names(["anna", "bert", "carl"]) == {"anna": "Änne", "bert": "Bert"}


async def test_rows_of_many_tables_share_commits_and_get_their_own_verdicts(
    journal: Journal,
) -> None:
    """Group commit: what comes while one transaction is in flight goes in with the next."""
    batches: list[int] = []

    class Counting:
        async def append(self, batch: list[Append]) -> list[Verdict]:
            batches.append(len(batch))
            return await journal.append(batch)

    tables = [f"{number:026d}" for number in range(50)]
    await journal.append([row(tables[7], 1)])
    commit = GroupCommit(Counting(), SystemClock())
    running = asyncio.create_task(commit.run())
    verdicts = await asyncio.gather(*(commit.append(row(table, 1)) for table in tables))
    running.cancel()
    assert [table for table, verdict in zip(tables, verdicts, strict=True) if verdict] == [
        tables[7]
    ]
    assert verdicts[7] is Taken.SEQ
    assert sum(batches) == 50
    assert len(batches) < 10
