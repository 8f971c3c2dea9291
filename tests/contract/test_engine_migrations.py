"""An engine's database of the first version is brought to the newest with its tables."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from okey_runtime.database import Database
from okey_runtime.migrations import migrate
from services.engine.app import MIGRATIONS
from services.engine.journal import Journal, Registered, Unretired
from services.engine.record import encode_events
from tests.walk import table_named, walk

A, B = "a" * 26, "b" * 26


def first_version(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    payload = encode_events(next(walk(table_named("solo"), 1, 1)).row.events)
    table = text("INSERT INTO tables (table_id, created_ms, is_closed) VALUES (:id, 5, :closed)")
    row = text("INSERT INTO journal (table_id, seq, at_ms, payload) VALUES (:id, :seq, :at, :p)")
    for table_id, is_closed in ((A, False), (B, True)):
        connection.execute(table, {"id": table_id, "closed": is_closed})
        for seq in (1, 2):
            connection.execute(row, {"id": table_id, "seq": seq, "at": 10 * seq, "p": payload})


async def test_tables_of_the_first_version_are_kept(engine_url: str) -> None:
    """Rows without a clock load first, since nobody knows; closed ones know when they were."""
    database = Database(engine_url)
    await database.transact(first_version)
    await migrate(engine_url, MIGRATIONS)
    journal = Journal(database)
    assert [row.seq for row in await journal.rows(A)] == [1, 2]
    assert await journal.unretired("", 10) == [Unretired(A, None), Unretired(B, None)]
    assert await journal.registered(B) == Registered(B, 5, True)
    closed = text("SELECT table_id, closed_ms FROM tables ORDER BY table_id")
    found = await database.read(lambda c: [tuple(row) for row in c.execute(closed)])
    assert found == [(A, None), (B, 20)]
    await database.close()
