import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from pydantic import SecretStr
from sqlalchemy import Connection, text
from structlog.testing import capture_logs

from okey_runtime.database import (
    Database,
    DatabaseAway,
    DatabaseBusy,
    DatabaseRefused,
    parse_url,
)
from okey_runtime.migrations import migrate
from okey_runtime.sqlite import run_quickly
from tests.unit.runtime.database_contract import DatabaseContract, add, chips
from tests.unit.runtime.migrations import ACCOUNTS, migrations


def written(folder: Path) -> bytes:
    """All that stands in the files of a database."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("okey.db*")))


class TestSqlite(DatabaseContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/okey.db"

    async def test_a_commit_is_on_the_disk_before_it_is_answered(self, database: Database) -> None:
        def pragmas(connection: Connection) -> list[object]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [connection.execute(text(f"PRAGMA {name}")).scalar() for name in names]

        assert await database.transact(pragmas) == ["wal", 2, 1]

    async def test_a_write_holds_the_lock_from_its_beginning(
        self, database: Database, tmp_path: Path
    ) -> None:
        def others_write(connection: Connection) -> None:
            other = sqlite3.connect(tmp_path / "okey.db", timeout=0)
            try:
                other.execute("BEGIN IMMEDIATE")
            finally:
                other.close()

        with pytest.raises(DatabaseAway, match="locked"):
            await database.transact(others_write)

    async def test_writes_run_in_one_thread(self, database: Database) -> None:
        idents = await asyncio.gather(
            *(database.transact(lambda _: threading.get_ident()) for _ in range(5))
        )
        assert len(set(idents)) == 1
        assert idents[0] != threading.get_ident()

    async def test_what_was_deleted_is_in_no_file_once_it_is_scrubbed(
        self, database: Database, tmp_path: Path
    ) -> None:
        names = [f"Secret Name {number}" for number in range(200)]

        def fill(connection: Connection) -> None:
            connection.execute(text("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)"))
            rows = [{"name": name} for name in names]
            connection.execute(text("INSERT INTO person (name) VALUES (:name)"), rows)

        def change(connection: Connection) -> None:
            connection.execute(text("UPDATE person SET name = 'x' WHERE id % 2 = 0"))
            connection.execute(text("DELETE FROM person WHERE id % 2 = 1"))

        await database.transact(fill)
        await database.scrub()
        await database.transact(change)
        assert b"Secret Name" in written(tmp_path)
        await database.scrub()
        assert b"Secret Name" not in written(tmp_path)
        assert await database.read(
            lambda c: c.execute(text("SELECT count(*) FROM person")).scalar()
        )

    async def test_a_long_read_keeps_the_files_from_being_scrubbed(
        self, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("okey_runtime.sqlite.BUSY_TIMEOUT_MS", 10)
        impatient = Database(f"sqlite:///{tmp_path}/okey.db")
        reader = sqlite3.connect(tmp_path / "okey.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM account").fetchall()
        await impatient.transact(add(5))
        with pytest.raises(DatabaseBusy, match="read"):
            await impatient.scrub()
        reader.close()
        await impatient.scrub()
        await impatient.close()

    async def test_a_file_that_another_process_has_locked_is_away(
        self, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("okey_runtime.sqlite.BUSY_TIMEOUT_MS", 10)
        impatient = Database(f"sqlite:///{tmp_path}/okey.db")
        other = sqlite3.connect(tmp_path / "okey.db")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseAway, match="locked"):
            await impatient.transact(add(5))
        other.close()
        assert await impatient.transact(add(5)) == 105
        await impatient.close()

    async def test_a_quick_statement_tells_an_outage_from_its_own_fault(
        self, database: Database
    ) -> None:
        def insert(connection: Connection, name: str) -> None:
            run_quickly(connection, "PRAGMA max_page_count = 1")  # no more than there are now
            run_quickly(connection, "INSERT INTO account VALUES (?, 1)", (name,))

        with pytest.raises(DatabaseAway, match="full"):
            await database.transact(lambda c: insert(c, "a" * 100_000))
        with pytest.raises(DatabaseRefused, match="SQLITE_CONSTRAINT"):
            await database.transact(lambda c: insert(c, "ayse"))
        more = "UPDATE account SET chips = chips + ? RETURNING chips"
        assert await database.transact(lambda c: list(run_quickly(c, more, (5,)))) == [(105,)]
        assert await database.read(chips) == 105

    async def test_an_error_that_nobody_foresaw_is_an_outage_with_its_name(
        self, database: Database
    ) -> None:
        """A wrong statement as well: a schema that another version has changed."""
        with capture_logs() as logs, pytest.raises(DatabaseAway, match="SQLITE_ERROR"):
            await database.read(lambda connection: connection.execute(text("SELECT * FROM no")))
        (said,) = (line for line in logs if line["event"] == "database_error")
        assert (said["state"], said["error"]) == ("SQLITE_ERROR", "no such table: no")
        assert said["statement"] == "SELECT * FROM no"
        assert await database.read(chips) == 100

    async def test_readers_do_not_wait_for_the_writer(self, database: Database) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def slow(connection: Connection) -> None:
            add(5)(connection)
            begun.set()
            assert go_on.wait(10)

        writing = asyncio.create_task(database.transact(slow))
        assert await asyncio.to_thread(begun.wait, 10)
        assert await database.read(chips) == 100
        go_on.set()
        await writing
        assert await database.read(chips) == 105


async def test_a_file_that_cannot_be_opened_is_away(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no/folder/okey.db"
    with pytest.raises(DatabaseAway, match="unable to open"):
        await migrate(url, migrations(tmp_path, (ACCOUNTS,)))
    database = Database(url)
    with pytest.raises(DatabaseAway, match="unable to open"):
        await database.read(chips)
    await database.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="name a file"):
        Database(url)


@pytest.mark.parametrize("url", ["mysql://u:hunter2@host/db", "nonsense hunter2", ""])
def test_another_url_is_refused_without_quoting_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="postgresql") as refused:
        parse_url(SecretStr(url))
    assert "hunter2" not in str(refused.value)


def test_migrations_are_not_run_by_hand(tmp_path: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations(tmp_path, (ACCOUNTS,))))
    with pytest.raises(RuntimeError, match="migrate"):
        command.upgrade(config, "head")
