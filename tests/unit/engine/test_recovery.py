"""After a crash a table goes on where it was, and the outage costs nobody time."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from okey.table import commands as c
from okey.table import events as e
from okey.table.state import Phase, SeatStatus
from services.engine.actor import TableActor
from services.engine.appending import Append
from services.engine.errors import EngineStopping, NoSuchTable, TableQuarantined
from services.engine.record import encode_events
from tests.unit.engine.world import (
    TABLE_ID,
    World,
    mover,
    plain_move,
    turn_of,
    until,
    world_in,
)

UNREADABLE = b"\xff\xff\xff"


async def test_a_table_goes_on_where_it_was(tmp_path: Path) -> None:
    """Nothing that was acknowledged is lost; a restart shuffles nothing anew."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player = mover(actor)
        await actor.submit(plain_move(actor), world.request(player))
        before = actor.table
        await world.crash()
        await world.boot()
        again = await world.tables.get(actor.table_id)
        assert again is not actor
        assert again.seq == actor.seq + 1, "one row: the take-over"
        assert again.table.round is not None
        assert before.round is not None
        assert again.table.round.hands == before.round.hands
        assert again.table.round.stock == before.round.stock
        assert again.table.seats == before.seats
        assert again.names == {"anna": "Anna", "bert": "Bert"}
        await again.submit(plain_move(again), world.request(mover(again)))


@pytest.mark.parametrize("away_ms", [40_000, 400_000])
async def test_an_outage_takes_no_time_from_a_turn_and_gives_none(
    tmp_path: Path, away_ms: int
) -> None:
    """U4: dead 10 s into a turn of 60 s, and back after any time: 50 to 52 s remain."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        world.clock.advance_ms(9_000)
        await world.sharing.renew()
        world.clock.advance_ms(1_000)
        await world.crash()
        world.clock.advance_ms(away_ms)
        await world.boot()
        again = await world.tables.get(actor.table_id)
        left_ms = turn_of(again).deadline_ms - world.steady.now_ms()
        assert 50_000 <= left_ms <= 52_000
        await world.ring(again, c.TimerKind.TURN)
        assert turn_of(again).number == turn_of(actor).number + 1


async def test_a_countdown_goes_on_after_a_crash(tmp_path: Path) -> None:
    """U13, W2: the clock is armed anew and the match starts."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await until(actor, lambda state: state.phase is Phase.COUNTDOWN)
        await world.crash()
        await world.boot()
        again = await world.tables.get(actor.table_id)
        await world.pass_countdown(again)
        assert again.table.phase is Phase.PLAYING


async def test_a_bots_turn_is_not_lost_in_a_crash(tmp_path: Path) -> None:
    """U10: a seat that an AI plays is played on after the restart."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        quitter = mover(actor)
        world.bots.reply = lambda question: None
        await actor.submit(c.Forfeit(quitter), world.request(quitter))
        await world.crash()
        await world.boot()
        again = await world.tables.get(actor.table_id)
        await until(again, lambda _: mover(again) not in ("", quitter))


async def test_a_table_that_does_not_replay_stands_still_and_harms_no_other(
    tmp_path: Path,
) -> None:
    """Quarantine, never a crash loop; the other tables load."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        broken = Append("b" * 26, 1, at_ms=1, payload=UNREADABLE)
        assert await world.journal.append([broken]) == [None]
        await world.crash()
        await world.boot()
        assert [each.table_id for each in world.tables.live()] == [TABLE_ID]
        assert world.tables.quarantine.tables.keys() == {"b" * 26}
        with pytest.raises(TableQuarantined):
            await world.tables.get("b" * 26)


async def test_events_that_cannot_follow_each_other_are_quarantined_too(tmp_path: Path) -> None:
    """A row that folds to nonsense is no reason to stop."""
    async with world_in(tmp_path) as world:
        nonsense = encode_events([e.TurnStarted(0, 1, 5)])
        await world.journal.append([Append("b" * 26, 1, at_ms=1, payload=nonsense)])
        await world.crash()
        await world.boot()
        assert world.tables.quarantine.tables.keys() == {"b" * 26}


async def test_releasing_a_table_loads_it_from_its_journal(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        again = await world.interventions.release(actor.table_id)
        assert again is not actor
        assert again.table.round is not None
        assert actor.table.round is not None
        assert again.table.round.hands == actor.table.round.hands
        await again.submit(plain_move(again), world.request(mover(again)))


async def gone(world: World, actor: TableActor) -> None:
    """Return once the engine has let this actor go."""
    while True:
        if actor not in world.tables.live():
            return
        await asyncio.sleep(0)


async def test_who_asks_for_a_table_while_it_is_loaded_gets_that_one(tmp_path: Path) -> None:
    """Two actors of one table would both take the next row for theirs."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        releasing = asyncio.create_task(world.interventions.release(actor.table_id))
        async with asyncio.timeout(10):
            await gone(world, actor)
        world.journal.looks.clear()
        asking = asyncio.create_task(world.tables.get(actor.table_id))
        loaded = await releasing
        world.journal.looks.set()
        assert await asking is loaded


async def test_a_load_that_fails_after_its_caller_has_gone_is_no_stray_error(
    tmp_path: Path,
) -> None:
    """Whoever asks next has it loaded again; nobody is told of an exception nobody retrieved."""
    strays: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: strays.append(context))
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        world.journal.stuck = {actor.table_id}
        asking = asyncio.create_task(world.interventions.release(actor.table_id))
        async with asyncio.timeout(10):
            await gone(world, actor)
            await world.journal.is_stuck.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        world.journal.is_away = True
        world.journal.unstuck.set()
        await world.settled()
        del asking  # its traceback holds the load
        gc.collect()
        assert strays == []


async def test_a_table_that_was_never_made_is_not_found(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        with pytest.raises(NoSuchTable):
            await world.tables.get("z" * 26)


async def test_a_stopping_engine_takes_no_commands(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        world.tables.stop()
        with pytest.raises(EngineStopping):
            await world.tables.get(actor.table_id)


async def test_an_idle_table_closes_by_its_clock(tmp_path: Path) -> None:
    """W1: nobody came for half an hour: the stake goes back."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        await world.ring(actor, c.TimerKind.IDLE)
        assert actor.table.is_done
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        assert world.wallet.script.names == ["HoldStake", "VoidHold", "CloseTable"]
