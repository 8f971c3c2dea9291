"""What ``Database`` and ``migrate`` promise, whichever database the URL names."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError
from structlog.testing import capture_logs

from okey_runtime.database import (
    Database,
    DatabaseAway,
    DatabaseBusy,
    DatabaseRefused,
    Isolation,
    Work,
)
from okey_runtime.migrations import check_schema, migrate
from okey_runtime.schema import SchemaIsOlder, SchemaUnknown
from tests.unit.runtime.migrations import ACCOUNTS, migrations

PLAYERS = "CREATE TABLE player (id TEXT PRIMARY KEY)"


def chips(connection: Connection) -> int:
    query = text("SELECT chips FROM account WHERE id = 'ayse'")
    value: int = connection.execute(query).scalar_one()
    return value


def add(more: int) -> Work[int]:
    """Read, compute, write: the shape in which updates get lost if transactions mix."""

    def work(connection: Connection) -> int:
        after = chips(connection) + more
        update = text("UPDATE account SET chips = :chips WHERE id = 'ayse'")
        connection.execute(update, {"chips": after})
        return after

    return work


class DatabaseContract:
    """Subclasses give the ``url`` fixture: an empty database."""

    @pytest.fixture
    async def database(self, url: str, tmp_path: Path) -> AsyncIterator[Database]:
        await migrate(url, migrations(tmp_path, (ACCOUNTS,)))
        database = Database(url, connections=4)
        await database.transact(
            lambda connection: connection.execute(text("INSERT INTO account VALUES ('ayse', 100)"))
        )
        yield database
        await database.close()

    async def test_a_transaction_returns_what_its_work_returns(self, database: Database) -> None:
        assert await database.transact(add(5)) == 105
        assert await database.read(chips) == 105

    async def test_a_transaction_that_raises_leaves_no_trace(self, database: Database) -> None:
        def half(connection: Connection) -> None:
            add(5)(connection)
            raise ValueError("second thoughts")

        with pytest.raises(ValueError, match="second thoughts"):
            await database.transact(half)
        assert await database.read(chips) == 100

    async def test_the_schemas_refusal_leaves_no_trace(self, database: Database) -> None:
        def twice(connection: Connection) -> None:
            add(5)(connection)
            add(-1_000)(connection)

        with pytest.raises(DatabaseRefused):
            await database.transact(twice)
        assert await database.read(chips) == 100

    async def test_an_error_does_not_quote_parameters(self, database: Database) -> None:
        with capture_logs() as logs, pytest.raises(DatabaseRefused) as refused:
            await database.transact(add(-123_456))
        assert "123" not in f"{refused.value} {logs}"
        assert [line["event"] for line in logs] == ["database_error"]

    async def test_no_update_is_lost_among_concurrent_transactions(
        self, database: Database
    ) -> None:
        results = await asyncio.gather(*(database.transact(add(1)) for _ in range(20)))
        assert sorted(results) == list(range(101, 121))
        assert await database.read(chips) == 120

    async def test_a_read_cannot_write(self, database: Database) -> None:
        with pytest.raises(DatabaseRefused) as refused:
            await database.read(add(5))
        assert re.search(r"read-?only", str(refused.value.__cause__))
        assert await database.read(chips) == 100

    async def test_a_read_sees_one_snapshot(self, database: Database) -> None:
        loop = asyncio.get_running_loop()

        def twice(connection: Connection) -> tuple[int, int]:
            first = chips(connection)
            between(connection)
            return first, chips(connection)

        def between(connection: Connection) -> None:
            """Let a write commit between the two looks, whichever thread or greenlet this is."""
            if database.dialect == "sqlite":
                written = asyncio.run_coroutine_threadsafe(database.transact(add(5)), loop)
                written.result(timeout=10)
            else:
                writing = asyncio.ensure_future(database.transact(add(5)))
                pause = text("SELECT pg_sleep(0.2)")
                while not writing.done():
                    connection.execute(pause)

        assert await database.read(twice) == (100, 100)
        assert await database.read(chips) == 105

    async def test_a_cancelled_caller_does_not_cut_its_transaction_off(
        self, database: Database, url: str
    ) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def slow(connection: Connection) -> None:
            add(5)(connection)
            begun.set()
            if database.dialect == "sqlite":
                assert go_on.wait(10)
            else:
                connection.execute(text("SELECT pg_sleep(0.2)"))

        caller = asyncio.create_task(database.transact(slow))
        assert await asyncio.to_thread(begun.wait, 10)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        go_on.set()
        await database.close()
        reopened = Database(url)
        assert await reopened.read(chips) == 105
        await reopened.close()

    async def test_closing_waits_for_what_is_under_way(self, database: Database) -> None:
        writes = [asyncio.create_task(database.transact(add(1))) for _ in range(5)]
        await asyncio.sleep(0)
        await database.close()
        assert sorted(await asyncio.gather(*writes)) == [101, 102, 103, 104, 105]

    async def test_a_closed_database_is_away(self, database: Database) -> None:
        await database.close()
        with pytest.raises(DatabaseAway, match="closed"):
            await database.transact(add(5))
        with pytest.raises(DatabaseAway, match="closed"):
            await database.read(chips)

    async def test_no_more_waits_than_the_bound_allows(self, database: Database, url: str) -> None:
        narrow = Database(url, max_waiting=2)
        results = await asyncio.gather(
            *(narrow.transact(add(1)) for _ in range(5)), return_exceptions=True
        )
        await narrow.close()
        assert [type(result) for result in results] == [int, int, *[DatabaseBusy] * 3]
        assert await database.read(chips) == 102

    @pytest.mark.parametrize("isolation", Isolation)
    async def test_each_isolation_commits(self, database: Database, isolation: Isolation) -> None:
        assert await database.transact(add(5), isolation) == 105
        assert await database.read(chips) == 105

    async def test_a_schema_is_brought_up_step_by_step_and_once(
        self, url: str, tmp_path: Path
    ) -> None:
        first = (ACCOUNTS, "INSERT INTO account VALUES ('ayse', 7)")
        await migrate(url, migrations(tmp_path / "1", first))
        second = ("UPDATE account SET chips = chips * 6",)
        for _ in range(2):
            await migrate(url, migrations(tmp_path / "2", first, second))
        database = Database(url)
        assert await database.read(chips) == 42
        await database.close()

    async def test_an_upgrade_that_fails_leaves_no_trace(self, url: str, tmp_path: Path) -> None:
        broken = (ACCOUNTS, "INSERT INTO account VALUES ('ayse', -1)")
        with pytest.raises(IntegrityError):
            await migrate(url, migrations(tmp_path / "broken", broken))
        await migrate(url, migrations(tmp_path / "good", (ACCOUNTS,)))

    async def test_replicas_that_start_at_once_upgrade_once(self, url: str, tmp_path: Path) -> None:
        folder = migrations(tmp_path, (ACCOUNTS, "INSERT INTO account VALUES ('ayse', 7)"))
        await asyncio.gather(*(migrate(url, folder) for _ in range(3)))
        database = Database(url)
        assert await database.read(chips) == 7
        await database.close()

    async def test_a_schema_that_nobody_has_made_is_refused(self, url: str, tmp_path: Path) -> None:
        folder = migrations(tmp_path, (ACCOUNTS,))

        with pytest.raises(SchemaIsOlder, match="schema none and this version needs 1: run"):
            await check_schema(url, folder)

        await migrate(url, folder)
        await check_schema(url, folder)

    async def test_an_older_schema_is_refused_with_what_to_run(
        self, url: str, tmp_path: Path
    ) -> None:
        await migrate(url, migrations(tmp_path / "1", (ACCOUNTS,)))
        folder = migrations(tmp_path / "2", (ACCOUNTS,), (PLAYERS,))

        with pytest.raises(SchemaIsOlder, match=r"schema 1 and .* 2: run python -m .*\.migrate"):
            await check_schema(url, folder)

    async def test_a_newer_schema_is_said_and_left_alone(self, url: str, tmp_path: Path) -> None:
        """A release is rolled back while its schema stays."""
        await migrate(url, migrations(tmp_path / "2", (ACCOUNTS,), (PLAYERS,)))
        before = migrations(tmp_path / "1", (ACCOUNTS,))

        for accept in (check_schema, migrate):
            with capture_logs() as logs:
                await accept(url, before)
            assert [(one["event"], one["schema"], one["knows"]) for one in logs] == [
                ("schema_is_newer", "2", "1")
            ]

    async def test_anothers_database_is_neither_migrated_nor_used(
        self, url: str, tmp_path: Path
    ) -> None:
        folder = migrations(tmp_path, (ACCOUNTS,))
        await migrate(url, folder)
        database = Database(url)
        rename = text("UPDATE alembic_version SET version_num = 'a1b2'")
        await database.transact(lambda connection: connection.execute(rename))
        await database.close()

        for accept in (check_schema, migrate):
            with pytest.raises(SchemaUnknown, match="'a1b2'"):
                await accept(url, folder)
