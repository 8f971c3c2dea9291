"""PostgreSQL fails under a table over gRPC: players are told to try again, and then play on."""

import asyncio
from pathlib import Path

import grpc
import pytest
from sqlalchemy import Connection, text

from okey_runtime import backoff
from okey_runtime.database import Database, Work
from okey_runtime.errors import from_rpc_error
from tests.integration.engine.platform import act, platform, playing, until, view_of

ENOUGH = 10
TRY_AGAIN = {"DATABASE_AWAY", "TABLE_RELOADING"}


def failing(*tables: str, state: str) -> Work[None]:
    """From now on each write of these tables fails with that SQLSTATE."""
    statements = [
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'as the test says' USING ERRCODE = '{state}'; END $$",
        *(
            f"CREATE TRIGGER fails BEFORE INSERT OR UPDATE ON {table} EXECUTE FUNCTION fails()"
            for table in tables
        ),
    ]

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    return work


def healed() -> Work[None]:
    return lambda connection: connection.execute(text("DROP FUNCTION fails CASCADE")).close()


@pytest.mark.parametrize(
    ("state", "tables"), [("53100", ("journal", "members")), ("57014", ("journal",))]
)
async def test_people_play_on_after_it_and_are_never_told_internal(
    tmp_path: Path,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    tables: tuple[str, ...],
) -> None:
    """U4: the renewals fail with the rows, or find room where these do not."""
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.05)
    monkeypatch.setattr("services.engine.reloads.WAIT_S", 0.05)
    server = Database(postgres_url)
    async with platform(tmp_path, database_url=postgres_url) as world, asyncio.timeout(60):
        table_id, mover, _ = await playing(world)
        stub = await world.tables_as(mover)
        view = await view_of(world, table_id, mover)
        await server.transact(failing(*tables, state=state))
        told: list[str] = []
        while sum(reason in TRY_AGAIN for reason in told) < ENOUGH:
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await stub.Act(act(world, view))
            assert refusal.value.code() is not grpc.StatusCode.INTERNAL
            told.append(from_rpc_error(refusal.value).reason)
        await server.transact(healed())
        await until(world, table_id, mover, lambda seen: seen.seq > view.seq + 1)
    await server.close()
