"""The engine's money events beside the wallet's books, over gRPC, and tables that stand still."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database
from okey_runtime.identity import Role
from services.wallet.auditing import Auditor, FullAudit
from services.wallet.engine_client import EngineClient
from services.wallet.finding import FindingKind
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls
from tests.integration.engine.platform import Phase, Platform, Player, platform, refused

Event = engine_pb2.ExportMoneyEventsResponse


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=20) as running:
        yield running


@pytest.fixture
async def ledger(world: Platform, tmp_path: Path) -> AsyncIterator[LedgerDatabase]:
    """The wallet's own database."""
    database = LedgerDatabase(LedgerUrls.of_anyone(f"sqlite:///{tmp_path / 'wallet.db'}"))
    yield database
    await database.close()


async def audit(world: Platform, database: Database) -> FullAudit:
    """As the wallet does it, with its own role."""
    engine = EngineClient(await world.channel("wallet-service", Role.WALLET))
    return await Auditor(database, SystemClock(), None, engine).run()


async def events(world: Platform, *table_ids: str) -> list[Event]:
    """What the engine exports."""
    request = engine_pb2.ExportMoneyEventsRequest(table_ids=table_ids)
    return [event async for event in (await world.operator()).ExportMoneyEvents(request)]


async def test_a_match_stands_in_both_books(world: Platform, ledger: LedgerDatabase) -> None:
    """M5: stakes, a start, a forfeit, and a leaver of another table: events and journals agree."""
    table_id = await world.open_table("anna")
    await world.take_seat(table_id, "bert")
    await Player(world, "anna", table_id).until_phase(Phase.PHASE_PLAYING)
    bert = await world.tables_as("bert")
    forfeit = engine_pb2.ForfeitRequest(table_id=table_id, request_id=world.request_id())
    await bert.Forfeit(forfeit)
    other = await world.open_table("cem")
    leave = engine_pb2.LeaveSeatRequest(table_id=other, request_id=world.request_id())
    await (await world.tables_as("cem")).LeaveSeat(leave)
    kinds = [event.WhichOneof("request") for event in await events(world, table_id)]
    assert kinds[:4] == ["hold_stake", "hold_stake", "start_match", "forfeit_seat"]
    assert {event.table_id for event in await events(world)} == {table_id, other}
    found = await audit(world, ledger)
    assert (found.findings, found.is_engine_compared) == ([], True)
    assert found.event_count >= 6


async def test_a_finding_on_an_escrow_is_told_and_stops_its_table(
    world: Platform, ledger: LedgerDatabase
) -> None:
    """M5: the table stands still until an operator releases it."""
    table_id = await world.open_table("anna")
    await ledger.tamper("UPDATE holds SET stake = stake + 1")
    found = await audit(world, ledger)
    assert {finding.kind for finding in found.findings} == {FindingKind.ESCROW_DIFFERS}
    assert found.quarantined == [table_id]
    anna = await world.tables_as("anna")
    leave = engine_pb2.LeaveSeatRequest(table_id=table_id, request_id=world.request_id())
    assert (await refused(anna.LeaveSeat(leave))).reason == "TABLE_QUARANTINED"
    operator = await world.operator()
    [listed] = (await operator.ListTables(engine_pb2.ListTablesRequest())).tables
    assert listed.is_quarantined
    await operator.ReleaseTable(engine_pb2.ReleaseTableRequest(table_id=table_id))
    await anna.LeaveSeat(leave)


async def test_only_known_tables_can_be_quarantined(world: Platform) -> None:
    """M5: a typing error says so."""
    request = engine_pb2.QuarantineTableRequest(table_id="z" * 26, reason="a test")
    operator = await world.operator()
    refusal = await refused(operator.QuarantineTable(request))
    assert refusal.reason == "TABLE_NOT_FOUND"
