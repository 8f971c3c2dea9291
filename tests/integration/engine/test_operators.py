"""What operators do to tables, over gRPC with a real wallet: end them, and find them archived."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from okey_runtime.identity import Role
from services.engine.appending import Append
from services.engine.archive import Archive
from services.engine.journal import Journal
from services.okeyctl.app import app
from services.okeyctl.reach import Reach
from services.okeyctl.tables_verify import fetch_round, proofs
from services.okeyctl.void_command import void_lines, void_table
from services.wallet.auditing import Auditor
from services.wallet.engine_client import EngineClient
from services.wallet.finding import Finding
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls
from tests.integration.engine.platform import Phase, Platform, platform, playing, refused


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'engine.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def world(engine_url: str, tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=5, database_url=engine_url) as running:
        yield running


@pytest.fixture
async def ledger(world: Platform, tmp_path: Path) -> AsyncIterator[LedgerDatabase]:
    database = LedgerDatabase(LedgerUrls.of_anyone(f"sqlite:///{tmp_path / 'wallet.db'}"))
    yield database
    await database.close()


async def findings(world: Platform, ledger: LedgerDatabase) -> list[Finding]:
    engine = EngineClient(await world.channel("wallet-service", Role.WALLET))
    audited = await Auditor(ledger, SystemClock(), None, engine).run()
    assert audited.is_engine_compared
    return audited.findings


def way(world: Platform) -> Reach:
    return Reach(world.engine_address, world.issuer.metadata("op", Role.OPERATOR, to="engine"))


async def until_told(database: Database) -> None:
    """Return when no table has anything left to do."""
    while await Journal(database).unretired("", 1):
        pass


async def test_a_broken_table_is_ended_and_every_chip_goes_back(
    world: Platform, ledger: LedgerDatabase, engine_url: str, tmp_path: Path
) -> None:
    """M10: in the middle of a match, by its readable rows; nobody is bound to it any more (W3)."""
    table_id, *_ = await playing(world, stake=100)
    assert await world.balance("player:anna") == 9_900
    await world.stop_engine()
    database = Database(engine_url)
    rows = await Journal(database).rows(table_id)
    broken = Append(table_id, rows[-1].seq + 1, rows[-1].at_ms, b"\xff\xff\xff")
    assert await Journal(database).append([broken]) == [None]
    await database.close()
    await world.start_engine()
    operator = await world.operator()
    [listed] = (await operator.ListTables(engine_pb2.ListTablesRequest())).tables
    assert (listed.is_quarantined, listed.table_id) == (True, table_id)
    assert listed.quarantine_reason == "its rows do not replay (DecodeError)"
    assert {each.kind.value for each in await findings(world, ledger)} == {"events_unreadable"}
    for _ in range(2):
        response = await void_table(way(world), table_id, "a broken disk")
        assert "docs/runbooks" not in "\n".join(void_lines(table_id, response))
        assert list(response.match_ids) == [f"{table_id}-1", f"{table_id}-2"]
    for player in ("anna", "bert"):
        assert await world.balance(f"player:{player}") == 10_000
        where = await (await world.tables_as(player)).WhereAmI(engine_pb2.WhereAmIRequest())
        assert where.seat == -1
    assert list((await operator.ListTables(engine_pb2.ListTablesRequest())).tables) == []
    assert await findings(world, ledger) == []
    watch = engine_pb2.GetTableRequest(table_id=table_id)
    refusal = await refused((await world.tables_as("anna")).GetTable(watch))
    assert refusal.reason == "TABLE_CLOSED"
    token = world.issuer.service_token_dir(tmp_path, Role.OPERATOR)
    engine = ("--engine", world.engine_address, "--token-file", str(token))
    watched = await asyncio.to_thread(
        CliRunner().invoke, app, ["tables", "watch", table_id, *engine]
    )
    assert (watched.exit_code, "was voided by an operator" in watched.output) == (0, True)


async def test_an_archived_table_is_verified_and_audited_as_before(
    world: Platform, ledger: LedgerDatabase, engine_url: str, tmp_path: Path
) -> None:
    """M5, T9: ListEvents, the proof of the deal and the two-way audit read the archive too."""
    table_id, mover, _ = await playing(world, stake=100)
    token = world.issuer.service_token_dir(tmp_path, Role.OPERATOR)
    engine = ("--engine", world.engine_address, "--token-file", str(token))
    command = ["tables", "void", table_id, "--reason", "to have it closed", *engine]
    told = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert (told.exit_code, "closed by its row" in told.output) == (0, True), told.output
    again = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert (again.exit_code, "is closed; open another one" in again.output) == (2, True)
    for look in ("show", "watch"):
        shown = await asyncio.to_thread(
            CliRunner().invoke, app, ["tables", look, table_id, *engine]
        )
        assert (shown.exit_code, "closed" in shown.output) == (0, True), shown.output
        assert "deciding" not in shown.output
    request = engine_pb2.ListEventsRequest(table_id=table_id, match_no=1, round_no=1)
    before = await (await world.tables_as(mover)).ListEvents(request)
    database = Database(engine_url)
    await until_told(database)
    assert await world.balance(f"player:{mover}") == 10_000
    await world.stop_engine()
    await Archive(database).move(table_id, SystemClock().now_ms())
    await database.close()
    await world.start_engine()
    assert await (await world.tables_as(mover)).ListEvents(request) == before
    assert list(proofs(await fetch_round(way(world), table_id, 1, 1)))
    assert await findings(world, ledger) == []
    view = await (await world.tables_as(mover)).GetTable(
        engine_pb2.GetTableRequest(table_id=table_id)
    )
    assert view.view.phase == Phase.PHASE_CLOSED
