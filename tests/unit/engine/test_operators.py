"""What operators and audits decide outlives the engine: quarantine and maintenance."""

import asyncio
from pathlib import Path

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Variant
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.errors import TableIsClosed
from okey.table.state import Phase
from services.engine.errors import TableQuarantined
from tests.unit.engine.operating import END, reboot
from tests.unit.engine.world import (
    TABLE_ID,
    mover,
    plain_move,
    turn_of,
    until,
    world_in,
)

# Quarantine


async def test_a_table_that_was_stopped_stands_still_after_a_restart(tmp_path: Path) -> None:
    """With the reason of whoever asked for it; its clocks go on with what they had left."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        left_ms = turn_of(actor).deadline_ms - world.steady.now_ms() - 20_000
        world.clock.advance_ms(20_000)
        assert await world.interventions.quarantine(actor.table_id, "wallet: ESCROW_DIFFERS")
        assert not await world.interventions.quarantine(actor.table_id, "again")
        world.clock.advance_ms(300_000)
        await reboot(world)
        stopped = world.tables.quarantine.tables[actor.table_id]
        assert stopped.reason == "wallet: ESCROW_DIFFERS"
        assert world.tables.live() == []
        with pytest.raises(TableQuarantined):
            await world.tables.get(actor.table_id)
        again = await world.interventions.release(actor.table_id)
        assert turn_of(again).deadline_ms == world.steady.now_ms() + left_ms
        await reboot(world)
        assert world.tables.quarantine.tables == {}
        again = await world.tables.get(actor.table_id)
        await again.submit(plain_move(again), world.request(mover(again)))


async def test_a_table_released_while_it_retires_is_kept_by_its_newer_actor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        retire, begun, may_end = world.journal.retire, asyncio.Event(), asyncio.Event()

        async def held(table_id: str) -> None:
            begun.set()
            await may_end.wait()
            await retire(table_id)

        monkeypatch.setattr(world.journal, "retire", held)
        await actor.submit(END, world.request("olga"))
        async with asyncio.timeout(10):
            await begun.wait()
        newer = await world.interventions.release(TABLE_ID)
        may_end.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*world.tables._background)
        assert await world.tables.get(TABLE_ID) is newer
        async with asyncio.timeout(10):
            with pytest.raises(TableIsClosed):
                await newer.submit(END, world.request("olga"))


# Maintenance


async def test_in_maintenance_a_table_waits_at_the_end_of_its_countdown(tmp_path: Path) -> None:
    """W2: also over a restart; whoever sits there may leave, and the match starts afterwards."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        await world.interventions.set_maintenance(True, "olga")
        world.clock.advance_ms(10_000)
        await world.settled()
        assert actor.table.phase is Phase.COUNTDOWN
        await reboot(world)
        assert world.tables.maintenance.is_on
        again = await world.tables.get(actor.table_id)
        world.clock.advance_ms(10_000)
        await world.settled()
        assert again.table.phase is Phase.COUNTDOWN
        await again.submit(c.LeaveSeat("bert"), world.request("bert"))
        await again.submit(c.TakeSeat("cem"), world.request("cem"))
        await until(again, lambda state: state.phase is Phase.COUNTDOWN)
        world.clock.advance_ms(10_000)
        await world.settled()
        assert again.table.phase is Phase.COUNTDOWN
        await world.interventions.set_maintenance(False, "olga")
        await until(again, lambda state: state.round is not None)
        await reboot(world)
        assert not world.tables.maintenance.is_on


async def test_in_maintenance_a_running_match_plays_its_rounds(tmp_path: Path) -> None:
    """K1: a Klasik match goes on to its next round."""
    config = TableConfig(
        TABLE_ID, Variant.KLASIK, seat_count=2, start_points=20, rules=DEFAULT_RULE_SET
    )
    async with world_in(tmp_path) as world:
        actor = await world.dealt(config)
        await world.interventions.set_maintenance(True, "olga")
        while actor.table.phase is Phase.PLAYING:
            await actor.submit(plain_move(actor), world.request(mover(actor)))
        await world.ring(actor, c.TimerKind.ROUND_PAUSE)
        assert actor.table.round is not None
        assert actor.table.round.round_no == 2


async def test_in_maintenance_who_plays_on_keeps_the_kasa_and_the_match_waits(
    tmp_path: Path,
) -> None:
    """W2, Ç10: the Nachspiel's time runs, so the answer counts; the next match waits."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await world.interventions.set_maintenance(True, "olga")
        await actor.submit(c.VoidMatch("olga", "once"), world.request("olga"))
        await until(actor, lambda state: state.phase is Phase.NACHSPIEL)
        for player in ("anna", "bert"):
            await actor.submit(c.PlayOn(player), world.request(player))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        world.clock.advance_ms(120_000)
        await world.settled()
        assert actor.table.phase is Phase.COUNTDOWN
        assert [seat.player for seat in actor.table.seats] == ["anna", "bert"]
        await world.interventions.set_maintenance(False, "olga")
        await until(actor, lambda state: state.round is not None)
