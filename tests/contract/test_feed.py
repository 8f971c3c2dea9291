"""Positions on every database: one order for all rows, which becomes visible in that order."""

import asyncio
import runpy
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.util import await_only

from okey.api.events.v1 import events_pb2
from okey.table.events import CountdownCancelled
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database, Isolation
from okey_runtime.identity import Identity, Role, set_current_identity
from okey_runtime.migrations import migrate
from okey_runtime.revocation import Revocations
from okey_runtime.unread import Cut, StreamNotRead
from services.engine import event_servicer
from services.engine.app import MIGRATIONS
from services.engine.appending import Append, Taken, append_batch
from services.engine.archive import Archive
from services.engine.errors import RowNotReadable
from services.engine.event_servicer import EventServicer, Pace
from services.engine.feed import PAGE_ROWS, CursorAhead, CursorTooOld, FedStore, Feed
from services.engine.journal import Journal
from services.engine.operators import Operators, Voided
from services.engine.record import encode_events
from services.engine.shedding import Limits, Shedding
from tests.unit.engine.test_old_events import newer_event

A, B, C = "a" * 26, "b" * 26, "c" * 26
PAYLOAD = encode_events([CountdownCancelled()])


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'engine.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    await migrate(database_url, MIGRATIONS)
    opened = Database(database_url)
    yield opened
    await opened.close()


def row(table_id: str, seq: int) -> Append:
    return Append(table_id, seq, at_ms=seq, payload=PAYLOAD)


def read(rows: tuple[bytes, ...]) -> list[tuple[str, int, int]]:
    """Table, seq and cursor of each message."""
    messages = map(events_pb2.SubscribeResponse.FromString, rows)
    return [(message.table_id, message.seq, int(message.cursor)) for message in messages]


async def test_rows_come_in_the_order_of_their_commits(database: Database) -> None:
    store = Journal(database)
    await store.append([row(B, 1), row(A, 1)])
    await store.append([row(A, 2)])
    page = await Feed(database, VirtualClock()).after(0)
    assert [(table, seq) for table, seq, _ in read(page.rows)] == [(A, 1), (B, 1), (A, 2)]
    cursors = [cursor for _, _, cursor in read(page.rows)]
    assert cursors == sorted(set(cursors))
    assert page.last == cursors[-1]


async def test_pages_follow_each_other_without_gap_or_double(database: Database) -> None:
    store, count = Journal(database), 2 * PAGE_ROWS + 1
    for seq in range(1, count + 1):
        await store.append([row(A, seq)])
    reader, seqs, position = Feed(database, VirtualClock()), list[int](), 0
    while len(seqs) < count:
        page = await reader.after(position)
        assert len(page.rows) <= PAGE_ROWS
        seqs += [seq for _, seq, _ in read(page.rows)]
        position = page.last
    assert seqs == list(range(1, count + 1))


async def test_a_refused_row_has_no_place_and_harms_no_other(database: Database) -> None:
    store = Journal(database)
    await store.append([row(A, 1)])
    assert await store.append([row(A, 1), row(B, 1)]) == [Taken.SEQ, None]
    page = await Feed(database, VirtualClock()).after(0)
    assert [(table, seq) for table, seq, _ in read(page.rows)] == [(A, 1), (B, 1)]


NEWER = Append(B, 1, at_ms=1, payload=newer_event())


async def test_a_newer_engines_row_ends_the_page_and_is_not_passed_over(
    database: Database,
) -> None:
    """What comes before it is given, then nothing until an engine that knows its kind answers."""
    await Journal(database).append([row(A, 1)])
    await Journal(database).append([NEWER])
    await Journal(database).append([row(A, 2)])
    reader = Feed(database, VirtualClock())
    page = await reader.after(0)
    assert [(table, seq) for table, seq, _ in read(page.rows)] == [(A, 1)]
    for _ in range(2):
        with pytest.raises(RowNotReadable, match=f"row 1 of table {B}"):
            await reader.after(page.last)


async def test_rows_that_nobody_can_read_hold_nobody_up(database: Database) -> None:
    """A damaged one, and one of a table that an operator has voided past its journal."""
    await Journal(database).append([NEWER, Append(C, 1, at_ms=1, payload=b"\xff")])
    await Journal(database).append([row(A, 1)])
    await Operators(database).begin_void(B, Voided(1, "olga", "it does not replay", (), False))
    page = await Feed(database, VirtualClock()).after(0)
    messages = list(map(events_pb2.SubscribeResponse.FromString, page.rows))
    assert [(each.table_id, len(each.events)) for each in messages] == [(B, 0), (C, 0), (A, 1)]


async def test_no_row_becomes_visible_after_a_later_one(database: Database) -> None:
    """Two owners commit at once, again and again; whoever reads meanwhile never looks back."""
    reader, seen, position = Feed(database, VirtualClock()), list[tuple[str, int]](), 0
    stores = [FedStore(Journal(database), reader) for _ in range(2)]

    async def write(store: FedStore, table_id: str) -> None:
        for seq in range(1, 31):
            await store.append([row(table_id, seq)])

    writing = asyncio.gather(write(stores[0], A), write(stores[1], B))
    while not writing.done() or len(seen) < 60:
        page = await reader.after(position)
        seen += [(table, seq) for table, seq, _ in read(page.rows)]
        position = page.last
    await writing
    assert sorted(seen) == [(table, seq) for table in (A, B) for seq in range(1, 31)]


async def test_a_position_is_nobodys_before_the_one_before_it_is_committed(
    postgres_url: str,
) -> None:
    """A transaction that lasts holds up the next one, which so cannot be read first."""
    await migrate(postgres_url, MIGRATIONS)
    database = Database(postgres_url)
    entered, may_end = asyncio.Event(), asyncio.Event()

    def lasting(connection: Connection) -> None:
        append_batch(connection, [row(A, 1)])
        entered.set()
        await_only(may_end.wait())

    slow = asyncio.create_task(database.transact(lasting, Isolation.READ_COMMITTED))
    await entered.wait()
    quick = asyncio.create_task(Journal(database).append([row(B, 1)]))
    await asyncio.wait([quick], timeout=0.2)
    assert not quick.done()
    may_end.set()
    await asyncio.gather(slow, quick)
    page = await Feed(database, VirtualClock()).after(0)
    assert [table for table, _, _ in read(page.rows)] == [A, B]
    await database.close()


async def test_who_waits_is_woken_by_a_commit_here(database: Database) -> None:
    reader = Feed(database, VirtualClock())
    store = FedStore(Journal(database), reader)
    waiting = asyncio.ensure_future(reader.after(0))
    await store.append([row(A, 1)])
    async with asyncio.timeout(10):
        assert len((await waiting).rows) == 1


async def test_several_who_ask_for_a_page_read_it_once(database: Database) -> None:
    await Journal(database).append([row(A, 1)])
    reader = Feed(database, VirtualClock())
    first, second = await asyncio.gather(reader.after(0), reader.after(0))
    assert first is second


async def test_a_cursor_must_be_ours_and_its_rows_kept(database: Database) -> None:
    await Journal(database).append([row(A, 1)])
    await Journal(database).append([row(A, 2)])
    reader = Feed(database, VirtualClock())
    last, _ = await reader.start("latest")
    assert (await reader.start(""), await reader.start(str(last))) == ((0, 0), (last, 0))
    with pytest.raises(CursorAhead):
        await reader.start(str(last + 1))


async def test_rows_that_were_archived_are_not_passed_over_silently(database: Database) -> None:
    """Who was behind them is told; who was not, goes on."""
    store, reader = Journal(database), Feed(database, VirtualClock())
    for each in (row(A, 1), row(B, 1), replace(row(A, 2), is_last=True), row(B, 2)):
        await store.append([each])
    await store.retire(A)
    cursors = {(table, seq): cursor for table, seq, cursor in read((await reader.after(0)).rows)}
    await Archive(database).move(A, now_ms=9)
    with pytest.raises(CursorTooOld):
        await reader.start(str(cursors[B, 1]))
    start = await reader.start(str(cursors[A, 2]))
    page = await Feed(database, VirtualClock()).after(*start)
    assert [(table, seq) for table, seq, _ in read(page.rows)] == [(B, 2)]
    kept = await Feed(database, VirtualClock()).after(*await reader.start(""))
    assert [(table, seq) for table, seq, _ in read(kept.rows)] == [(B, 1), (B, 2)]


async def test_a_stream_behind_the_archive_ends_with_the_reason(database: Database) -> None:
    """As a new one with the same cursor does."""
    store, reader = Journal(database), Feed(database, VirtualClock())
    for seq in range(1, PAGE_ROWS + 1):
        await store.append([row(A, seq)])
    await store.append([row(B, 1)])
    await store.append([replace(row(B, 2), is_last=True)])
    await store.append([row(A, PAGE_ROWS + 1)])
    await store.retire(B)
    page = await reader.after(0)
    assert len(page.rows) == PAGE_ROWS
    await Archive(database).move(B, now_ms=9)
    with pytest.raises(CursorTooOld):
        await reader.after(page.last)
    with pytest.raises(CursorTooOld):
        await reader.start(str(page.last))


@dataclass
class Idle:
    """Nothing waits here."""

    lag_ms: int = 0
    waiting: int = 0


async def rows_of(servicer: EventServicer) -> AsyncGenerator[bytes, None]:
    """What it writes, each row once the one before was taken."""
    rows: asyncio.Queue[bytes] = asyncio.Queue()
    taken = asyncio.Semaphore(0)

    async def write(row: bytes) -> None:
        rows.put_nowait(row)
        await taken.acquire()

    writing = asyncio.create_task(servicer._write_rows("", write, Cut()))
    try:
        while True:
            getting = asyncio.create_task(rows.get())
            await asyncio.wait({getting, writing}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                getting.cancel()
                await writing
                return
            yield getting.result()
            taken.release()
    finally:
        writing.cancel()


@pytest.mark.parametrize("is_archived_before", [False, True])
async def test_a_stream_is_open_while_rows_that_come_next_are_archived(
    database: Database, is_archived_before: bool
) -> None:
    """It gets all that was kept when it began, or is told that something is missing."""
    store, reader, clock = Journal(database), Feed(database, VirtualClock()), VirtualClock()
    for seq in range(1, PAGE_ROWS + 1):
        await store.append([row(A, seq)])
    await store.append([replace(row(B, 1), is_last=True)])
    await store.append([row(A, PAGE_ROWS + 1)])
    await store.retire(B)
    if is_archived_before:
        await Archive(database).move(B, now_ms=9)
    shedding = Shedding(Limits(lag_ms=1, rows=1, streams=1), Idle(), Idle())
    expires_ms = clock.now_ms() + 600_000
    set_current_identity(Identity("team", frozenset({Role.INTEGRATOR}), "", expires_ms))
    async with aclosing(
        rows_of(EventServicer(reader, clock, shedding, Pace(1_000_000, clock), Revocations(clock)))
    ) as stream:
        for _ in range(PAGE_ROWS):
            await anext(stream)
        if is_archived_before:
            [(table, seq, _)] = read((await anext(stream),))
            assert (table, seq) == (A, PAGE_ROWS + 1)
            return
        await Archive(database).move(B, now_ms=9)
        with pytest.raises(CursorTooOld):
            await anext(stream)


class Unread:
    """The context of a stream whose reader takes nothing."""

    async def write(self, row: bytes) -> None:
        await asyncio.Event().wait()


async def test_a_stream_of_which_nothing_is_taken_is_cut(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_servicer, "UNREAD_FOR_S", 0.01)
    await Journal(database).append([row(A, 1)])
    clock = VirtualClock()
    shedding = Shedding(Limits(lag_ms=1, rows=1, streams=1), Idle(), Idle())
    expires_ms = clock.now_ms() + 600_000
    set_current_identity(Identity("team", frozenset({Role.INTEGRATOR}), "", expires_ms))
    subscribe: Any = EventServicer(
        Feed(database, clock), clock, shedding, Pace(1_000_000, clock), Revocations(clock)
    ).Subscribe
    with pytest.raises(StreamNotRead):
        await subscribe(events_pb2.SubscribeRequest(), Unread())


async def test_a_stream_that_began_after_the_archive_passes_its_rows(database: Database) -> None:
    """With an empty cursor it gets all that is kept, also what stands before the archived rows."""
    store, reader = Journal(database), Feed(database, VirtualClock())
    for seq in range(1, PAGE_ROWS + 1):
        await store.append([row(A, seq)])
    await store.append([replace(row(B, 1), is_last=True)])
    await store.append([row(A, PAGE_ROWS + 1)])
    await store.retire(B)
    await Archive(database).move(B, now_ms=9)
    position, archived = await reader.start("")
    page = await reader.after(position, archived)
    assert page.last < page.archived == archived
    rest = await reader.after(page.last, archived)
    assert [(table, seq) for table, seq, _ in read(rest.rows)] == [(A, PAGE_ROWS + 1)]


async def test_a_stream_that_waits_for_the_first_row_misses_none_that_is_archived_at_once(
    database: Database,
) -> None:
    """It began when there was nothing, so a table that came and went since is missing."""
    store, reader = Journal(database), Feed(database, VirtualClock())
    position, archived = await reader.start("")
    await store.append([row(A, 1)])
    await store.append([replace(row(A, 2), is_last=True)])
    await store.append([row(B, 1)])
    await store.retire(A)
    await Archive(database).move(A, now_ms=9)
    with pytest.raises(CursorTooOld):
        await reader.after(position, archived)
    page = await reader.after(*await reader.start(""))
    assert [(table, seq) for table, seq, _ in read(page.rows)] == [(B, 1)]


async def test_who_begins_after_the_archive_is_not_turned_away_by_a_page_that_was_read_before(
    database: Database,
) -> None:
    """However often it begins anew: the page still stands in memory."""
    store, reader = Journal(database), Feed(database, VirtualClock())
    for seq in range(1, PAGE_ROWS + 1):
        await store.append([row(A, seq)])
    await store.append([replace(row(B, 1), is_last=True)])
    await store.append([row(A, PAGE_ROWS + 1)])
    await store.retire(B)
    await reader.after(0)
    await Archive(database).move(B, now_ms=9)
    position, archived = await reader.start("")
    page = await reader.after(position, archived)
    rest = await reader.after(page.last, archived)
    assert [(table, seq) for table, seq, _ in read(rest.rows)] == [(A, PAGE_ROWS + 1)]


async def test_an_unreadable_row_is_shown_empty_and_the_others_come(database: Database) -> None:
    store = Journal(database)
    await store.append([Append(A, 1, at_ms=1, payload=b"\xff\xff\xff"), row(B, 1)])
    page = await Feed(database, VirtualClock()).after(0)
    shown = [events_pb2.SubscribeResponse.FromString(each) for each in page.rows]
    assert [(each.table_id, len(each.events)) for each in shown] == [(A, 0), (B, 1)]


async def test_rows_that_were_there_before_are_numbered_in_time_and_in_their_tables_order(
    database: Database,
) -> None:
    """The migration's own statement; a clock that was set back turns no table's order round."""
    store = Journal(database)
    for table_id, seq, at_ms in ((A, 1, 10), (B, 1, 20), (A, 2, 30), (A, 3, 15), (B, 2, 25)):
        await store.append([replace(row(table_id, seq), at_ms=at_ms)])
    number = runpy.run_path(str(MIGRATIONS / "versions" / "0003_feed.py"))["NUMBER"]

    def again(connection: Connection) -> None:
        connection.execute(text("UPDATE journal SET position = NULL"))
        connection.execute(text(number))

    await database.transact(again)
    page = await Feed(database, VirtualClock()).after(0)
    assert read(page.rows) == [(A, 1, 1), (B, 1, 2), (B, 2, 3), (A, 2, 4), (A, 3, 5)]


class Napping(VirtualClock):
    """A virtual clock that tells when somebody has to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    async def sleep_until_ms(self, monotonic_ms: int) -> None:
        if monotonic_ms > self.monotonic_ms():
            self.asleep.set()
        await super().sleep_until_ms(monotonic_ms)


async def test_old_rows_are_replayed_at_the_pace_that_all_subscribers_share(
    database: Database,
) -> None:
    """Two replay one page each: the second waits until the first one's rows are paid for."""
    clock = Napping()
    store, reader = Journal(database), Feed(database, clock)
    await store.append([replace(row(A, 1), at_ms=clock.now_ms() - 60_000)])
    shedding = Shedding(Limits(lag_ms=1, rows=1, streams=9), Idle(), Idle())
    set_current_identity(
        Identity("team", frozenset({Role.INTEGRATOR}), "", clock.now_ms() + 600_000)
    )
    servicer = EventServicer(reader, clock, shedding, Pace(1, clock), Revocations(clock))
    first, second = rows_of(servicer), rows_of(servicer)
    assert await anext(first)
    waiting = asyncio.ensure_future(anext(second))
    await clock.asleep.wait()
    assert not waiting.done()
    clock.advance_ms(1_000)
    assert await waiting
    for stream in (first, second):
        await stream.aclose()


async def test_new_rows_go_at_once(database: Database) -> None:
    clock = VirtualClock()
    store, reader = Journal(database), Feed(database, clock)
    shedding = Shedding(Limits(lag_ms=1, rows=1, streams=9), Idle(), Idle())
    set_current_identity(
        Identity("team", frozenset({Role.INTEGRATOR}), "", clock.now_ms() + 600_000)
    )
    async with aclosing(
        rows_of(EventServicer(reader, clock, shedding, Pace(1, clock), Revocations(clock)))
    ) as stream:
        for seq in range(1, 4):
            await store.append([replace(row(A, seq), at_ms=clock.now_ms())])
            reader.news()
            assert await anext(stream)
