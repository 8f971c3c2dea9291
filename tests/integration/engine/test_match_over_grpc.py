"""Whole matches over gRPC: people, bots, wallet and rating as they are."""

import asyncio
from functools import partial
from pathlib import Path

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.api.wallet.v1 import wallet_pb2
from tests.integration.engine.platform import Phase, Platform, Player, platform, settled

NACHSPIEL = Phase.PHASE_NACHSPIEL


async def audit(world: Platform) -> None:
    wallet = await world.wallet()
    report = await wallet.VerifyLedger(wallet_pb2.VerifyLedgerRequest())
    assert list(report.findings) == []


async def test_two_people_play_a_canak_match_to_the_nachspiel(tmp_path: Path) -> None:
    """Ç2, Ç7, Ç8: nobody finishes, the pot goes back, the kasa stands and the table waits."""
    async with platform(tmp_path) as world:
        table_id = await world.open_table("anna")
        seat = await world.take_seat(table_id, "bert")
        assert seat.hold_status == engine_pb2.HoldStatus.HOLD_STATUS_HELD
        players = [Player(world, name, table_id) for name in ("anna", "bert")]
        views = await asyncio.gather(*(player.until_phase(NACHSPIEL) for player in players))
        assert [view.kasa for view in views] == [20, 20]
        assert await world.balance("player:anna") == 10_000 - 10
        assert await world.balance("player:bert") == 10_000 - 10
        assert [seat.display_name for seat in views[0].seats] == ["Anna", "Bert"]
        await audit(world)


async def test_a_match_is_played_on_postgresql_over_a_restart(
    tmp_path: Path, postgres_url: str
) -> None:
    """The same code on the other database: rows, seats and cursors outlast the engine."""
    async with platform(tmp_path, database_url=postgres_url) as world:
        table_id = await world.open_table("anna")
        await world.take_seat(table_id, "bert")
        players = [Player(world, name, table_id) for name in ("anna", "bert")]
        await asyncio.gather(*(player.until_phase(Phase.PHASE_PLAYING) for player in players))
        await world.stop_engine()
        await world.start_engine()
        views = await asyncio.gather(*(player.until_phase(NACHSPIEL) for player in players))
        assert [view.kasa for view in views] == [20, 20]
        await audit(world)


async def test_a_nachspiel_is_played_for_the_grown_kasa(tmp_path: Path) -> None:
    """Ç2, Ç8, Ç9: both pay again, and the next match's kasa has both shares."""
    async with platform(tmp_path) as world:
        table_id = await world.open_table("anna")
        await world.take_seat(table_id, "bert")
        players = [Player(world, name, table_id) for name in ("anna", "bert")]
        await asyncio.gather(*(player.until_phase(NACHSPIEL) for player in players))
        for player in players:
            request = engine_pb2.PlayOnRequest(table_id=table_id, request_id=world.request_id())
            play_on = (await player.stub()).PlayOn
            answer = await settled(partial(play_on, request))
            assert answer.hold_status == engine_pb2.HoldStatus.HOLD_STATUS_HELD
        again = [Player(world, name, table_id) for name in ("anna", "bert")]
        await asyncio.gather(*(player.until_phase(Phase.PHASE_PLAYING) for player in again))
        views = await asyncio.gather(*(player.until_phase(NACHSPIEL) for player in again))
        assert [(view.match_no, view.kasa) for view in views] == [(2, 40), (2, 40)]
        await audit(world)


async def test_solo_is_played_by_bots_to_its_end(tmp_path: Path) -> None:
    """O1, W4, M7: the bots' seats play by themselves and the bank pays their stakes."""
    async with platform(tmp_path) as world:
        table_id = await world.open_table("anna", mode=common_pb2.MODE_SOLO, seat_count=4)
        player = Player(world, "anna", table_id)
        view = await player.until_phase(NACHSPIEL, Phase.PHASE_CLOSED)
        assert view.match_no == 1
        await audit(world)
