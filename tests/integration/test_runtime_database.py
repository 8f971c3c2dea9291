"""The database plumbing on a real PostgreSQL: the shared contract, conflicts, and outages."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from structlog.testing import capture_logs

from okey_runtime import postgres
from okey_runtime.database import (
    Database,
    DatabaseAway,
    DatabaseBusy,
    DatabaseLocked,
    DatabaseRefused,
    Isolation,
    Work,
)
from okey_runtime.errors import to_status
from okey_runtime.migrations import UPGRADE_LOCK_ID, migrate
from tests.fixtures.name import Name
from tests.fixtures.postgres import PostgresServer, postgres_server, postgres_url
from tests.unit.runtime.database_contract import DatabaseContract, add, chips
from tests.unit.runtime.migrations import ACCOUNTS, migrations

__all__ = ["postgres_server", "postgres_url"]


def run(*statements: str) -> Work[None]:
    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    return work


class TestPostgres(DatabaseContract):
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        return postgres_url


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with two accounts of 100 chips."""
    rows = "INSERT INTO account VALUES ('ayse', 100), ('ali', 100)"
    await migrate(postgres_url, migrations(tmp_path, (ACCOUNTS, rows)))
    database = Database(postgres_url, connections=2)
    yield database
    await database.close()


async def test_write_skew_is_a_conflict_that_is_tried_again(pair: Database) -> None:
    """Each may empty its account only while both hold 200 together: one must see the other."""
    tries: list[str] = []

    def emptying(own: str) -> Work[bool]:
        def work(connection: Connection) -> bool:
            tries.append(own)
            total = connection.execute(text("SELECT sum(chips) FROM account")).scalar_one()
            run("SELECT pg_sleep(0.1)")(connection)
            if total < 200:
                return False
            run(f"UPDATE account SET chips = 0 WHERE id = '{own}'")(connection)
            return True

        return work

    done = await asyncio.gather(*(pair.transact(emptying(own)) for own in ("ayse", "ali")))
    assert sorted(done) == [False, True]
    assert len(tries) == 3


async def test_a_deadlock_is_tried_again(pair: Database) -> None:
    def both(first: str, second: str) -> Work[None]:
        take = "UPDATE account SET chips = chips - 1 WHERE id = '{}'"
        return run(take.format(first), "SELECT pg_sleep(0.1)", take.format(second))

    await asyncio.gather(
        pair.transact(both("ayse", "ali"), Isolation.READ_COMMITTED),
        pair.transact(both("ali", "ayse"), Isolation.READ_COMMITTED),
    )
    assert await pair.read(chips) == 98


async def test_a_conflict_that_does_not_end_is_given_up(
    pair: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "MAX_TRIES", 3)
    raising = "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$"
    tries = 0

    def work(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        run(raising)(connection)

    with pytest.raises(DatabaseBusy, match="3 times"):
        await pair.transact(work)
    assert tries == 3


async def test_a_connection_lost_in_a_transaction_is_an_outage_and_leaves_no_trace(
    pair: Database,
) -> None:
    def work(connection: Connection) -> None:
        add(5)(connection)
        run("SELECT pg_terminate_backend(pg_backend_pid())")(connection)

    with pytest.raises(DatabaseAway):
        await pair.transact(work)
    assert await pair.read(chips) == 100


async def test_an_upgrade_waits_for_the_one_of_another_replica(
    postgres_url: str, tmp_path: Path
) -> None:
    others = Database(postgres_url)
    upgrades: list[asyncio.Future[None]] = []
    is_waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")

    def upgrade_meanwhile(connection: Connection) -> bool:
        lock = text("SELECT pg_advisory_xact_lock(:id)")
        connection.execute(lock, {"id": UPGRADE_LOCK_ID})
        upgrading = asyncio.ensure_future(migrate(postgres_url, migrations(tmp_path, (ACCOUNTS,))))
        upgrades.append(upgrading)
        while not upgrading.done():
            if connection.execute(is_waiting).scalar_one():
                return True
            connection.execute(text("SELECT pg_sleep(0.01)"))
        return False

    assert await others.transact(upgrade_meanwhile, Isolation.READ_COMMITTED)
    await asyncio.gather(*upgrades)
    await others.transact(run("INSERT INTO account VALUES ('ayse', 100)"))
    await others.close()


async def test_an_upgrade_does_not_wait_long_for_a_lock(
    pair: Database, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody who comes after it would wait behind it."""
    monkeypatch.setattr("okey_runtime.migrations.LOCK_WAIT_MS", 50)
    change = ("ALTER TABLE account ADD COLUMN later TEXT",)
    folder = migrations(tmp_path / "later", (ACCOUNTS,), change)

    def read_meanwhile(connection: Connection) -> "asyncio.Future[None]":
        chips(connection)
        upgrading = asyncio.ensure_future(migrate(postgres_url, folder))
        while not upgrading.done():
            connection.execute(text("SELECT pg_sleep(0.01)"))
        return upgrading

    with pytest.raises(DatabaseBusy, match="kept a lock"):
        await (await pair.read(read_meanwhile))
    await migrate(postgres_url, folder)


CLASSES = (
    *("03000", "08007", "0A000", "0L000", "20000", "21000", "24000", "25000", "25P02"),
    *("26000", "28000", "2BP01", "2D000", "34000", "38000", "3B001", "3D000", "3F000", "40002"),
    *("40003", "42501", "42703", "42P01", "44000", "53000", "53100", "53200", "53300", "53400"),
    *("54000", "55000", "55006", "57000", "57014", "57P01", "57P04", "58000", "58030", "72000"),
    *("F0000", "HV000", "XX000", "XX001", "XX002"),
)
"""An SQLSTATE of each class, and each that a full or dying server gives."""
REFUSALS = ("22001", "22003", "22021", "22P02", "23502", "23505", "23514", "P0001")


def raising(state: str) -> Work[None]:
    return run(f"DO $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = '{state}'; END $$")


@pytest.mark.parametrize("state", CLASSES)
async def test_every_error_that_is_no_verdict_is_an_outage_with_its_state(
    pair: Database, state: str
) -> None:
    with pytest.raises(DatabaseAway, match=state):
        await pair.transact(raising(state))
    assert await pair.transact(add(1)) == 101


@pytest.mark.parametrize("state", REFUSALS)
async def test_what_a_transaction_holds_is_refused_to_it_alone(pair: Database, state: str) -> None:
    with pytest.raises(DatabaseRefused, match=state) as refused:
        await pair.transact(raising(state))
    assert to_status(refused.value) is not None, "UNAVAILABLE, and never INTERNAL"
    assert await pair.transact(add(1)) == 101


async def test_a_lock_that_is_not_let_go_is_named(pair: Database) -> None:
    with pytest.raises(DatabaseLocked):
        await pair.transact(raising("55P03"))


async def test_the_log_says_what_the_server_said(pair: Database) -> None:
    with capture_logs() as logs, pytest.raises(DatabaseAway):
        await pair.transact(raising("53100"))
    (said,) = (line for line in logs if line["event"] == "database_error")
    assert (said["state"], said["error"]) == ("53100", "as asked")


async def test_a_server_that_refuses_connections_is_away(tmp_path: Path) -> None:
    url = "postgresql://okey@127.0.0.1:1/okey"
    database = Database(url)
    with pytest.raises(DatabaseAway):
        await database.read(chips)
    with pytest.raises(DatabaseAway):
        await migrate(url, migrations(tmp_path, (ACCOUNTS,)))
    await database.close()


async def still_starting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What PostgreSQL answers whoever connects while it recovers from a crash."""
    asked_for_tls = await reader.readexactly(8)
    if asked_for_tls[4:] == (80877103).to_bytes(4, "big"):
        writer.write(b"N")
        await reader.read(1_024)
    body = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
    writer.write(b"E" + (len(body) + 4).to_bytes(4, "big") + body)
    await writer.drain()
    writer.close()


async def test_a_server_that_is_still_starting_is_away(tmp_path: Path) -> None:
    async with await asyncio.start_server(still_starting, "127.0.0.1", 0) as server:
        url = f"postgresql://okey@127.0.0.1:{server.sockets[0].getsockname()[1]}/okey"
        database = Database(url)
        with pytest.raises(DatabaseAway):
            await database.read(chips)
        with pytest.raises(DatabaseAway):
            await migrate(url, migrations(tmp_path, (ACCOUNTS,)))
        await database.close()


async def test_a_server_that_does_not_answer_is_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "STATEMENT_TIMEOUT_S", 0.2)
    database = Database(postgres_url)
    with pytest.raises(DatabaseAway):
        await database.transact(run("SELECT pg_sleep(20)"))
    await database.transact(run("SELECT 1"))
    await database.close()


async def test_no_free_connection_means_busy(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "POOL_TIMEOUT_S", 0.05)
    database = Database(postgres_url, connections=1)
    holding = asyncio.create_task(database.transact(run("SELECT pg_sleep(0.5)")))
    await asyncio.sleep(0)
    with pytest.raises(DatabaseBusy, match="no connection"):
        await database.transact(run("SELECT 1"))
    await holding
    await database.close()


@pytest.fixture
def crashing_server() -> Iterator[PostgresServer]:
    """A server of this test alone, because the test kills it."""
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        server = PostgresServer(Path(home))
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


async def test_a_primary_that_became_read_only_is_left_and_its_name_asked_again(
    crashing_server: PostgresServer, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """25006: it lives on and never ends a connection, and the name leads to another by now."""
    old, new = (each.create_database("moved") for each in (crashing_server, postgres_server))
    for number, url in enumerate((old, new)):
        rows = f"INSERT INTO account VALUES ('ayse', {number})"
        await migrate(url, migrations(tmp_path / str(number), (ACCOUNTS, rows)))
    async with Name(crashing_server.port) as name:
        database = Database(name.of(old), connections=2)
        await asyncio.gather(*(database.read(run("SELECT pg_sleep(0.05)")) for _ in range(2)))
        await make_read_only(old)
        name.port = postgres_server.port
        assert await database.read(chips) == 0, "reading goes on"
        with pytest.raises(DatabaseAway, match="25006"):
            await database.transact(add(10))
        assert await database.transact(add(10)) == 11
        assert {await database.read(chips) for _ in range(3)} == {11}
        await database.close()


async def make_read_only(url: str) -> None:
    """For all sessions, also those that are open; returns once it holds for them."""
    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("ALTER SYSTEM SET default_transaction_read_only = on"))
        await connection.execute(text("SELECT pg_reload_conf()"))
        shown = ""
        while shown != "on":
            result = await connection.execute(text("SHOW default_transaction_read_only"))
            shown = result.scalar_one()
    await engine.dispose()


async def test_a_server_that_crashed_is_used_again_once_it_is_back(
    crashing_server: PostgresServer, tmp_path: Path
) -> None:
    url = crashing_server.create_database()
    await migrate(url, migrations(tmp_path, (ACCOUNTS, "INSERT INTO account VALUES ('ayse', 1)")))
    database = Database(url, connections=2)
    assert await database.transact(add(1)) == 2
    await asyncio.to_thread(crashing_server.stop, "immediate")
    for _ in range(3):
        with pytest.raises(DatabaseAway):
            await database.transact(add(1))
        with pytest.raises(DatabaseAway):
            await database.read(chips)
    await asyncio.to_thread(crashing_server.start)
    assert await database.transact(add(1)) == 3
    await database.close()
