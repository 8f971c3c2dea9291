"""What the engine keeps of a player, on every database."""

import pytest
from sqlalchemy import Connection, insert

from okey_runtime.database import Database, Isolation
from services.engine.players import Players, PlayerSeated
from services.engine.schema import seated

TABLE = "t" * 26


async def test_an_id_that_sits_is_not_closed_and_keeps_its_seat(engine_database: Database) -> None:
    """W3: it has to leave first."""

    def sit(connection: Connection) -> None:
        connection.execute(insert(seated), [{"player": "ayse", "table_id": TABLE}])

    await engine_database.transact(sit, Isolation.READ_COMMITTED)
    players = Players(engine_database)
    with pytest.raises(PlayerSeated, match=TABLE) as refused:
        await players.close("ayse")
    assert refused.value.reason == "PLAYER_SEATED"
    kept = await players.find("ayse")
    assert (kept.table_id, kept.is_closed) == (TABLE, False)
