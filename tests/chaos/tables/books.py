"""What is stored at the end of a run: the tables' rows, and the wallet's journals by kind."""

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import Connection, select

from okey_runtime.database import Database
from services.engine.journal import Journal
from services.engine.record import Row
from services.engine.schema import tables
from services.wallet.schema import journals
from tests.chaos.tables.stand import TablesStand


async def read_rows(stand: TablesStand, table_ids: Iterable[str]) -> dict[str, list[Row]]:
    """Every stored row of those tables, and of whatever other tables there are."""
    database = Database(stand.engine_url)
    try:
        journal = Journal(database)
        known = await database.read(lambda c: c.execute(select(tables.c.table_id)).scalars().all())
        return {each: await journal.rows(each) for each in sorted({*known, *table_ids})}
    finally:
        await database.close()


async def read_open(stand: TablesStand) -> frozenset[str]:
    """The tables that have something left to do, or to tell wallet and ratings."""
    query = select(tables.c.table_id).where(~tables.c.is_retired)
    database = Database(stand.engine_url, connections=1)
    try:
        return frozenset(await database.read(lambda c: c.execute(query).scalars().all()))
    finally:
        await database.close()


async def read_booked(stand: TablesStand) -> Counter[tuple[str, str]]:
    """How many journals the wallet has, by kind and match."""
    query = select(journals.c.kind, journals.c.match_id)

    def count(connection: Connection) -> Counter[tuple[str, str]]:
        return Counter((row.kind, row.match_id or "") for row in connection.execute(query))

    database = Database(stand.wallet_url, connections=1)
    try:
        return await database.read(count)
    finally:
        await database.close()
