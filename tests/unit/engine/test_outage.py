"""The database or the wallet away: callers are told, clocks stand still, then all goes on."""

import asyncio
from pathlib import Path

import pytest
import structlog

from okey.api.engine.v1 import engine_pb2
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.state import SeatStatus
from okey_runtime.database import DatabaseAway
from okey_runtime.errors import RpcFailure
from services.engine.actor import TableActor
from services.engine.errors import TableReloading
from services.engine.player_commands import PlayerCommands
from tests.unit.engine.doubles import AWAY, declined
from tests.unit.engine.world import (
    World,
    mover,
    next_of,
    plain_move,
    turn_of,
    until,
    world_in,
)

STATUS = engine_pb2.HoldStatus


async def test_a_row_lost_before_it_was_written_can_be_sent_again(tmp_path: Path) -> None:
    """UNAVAILABLE: nothing was written; the same request counts the second time."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player, move = mover(actor), plain_move(actor)
        asked = world.request(player, "move")
        world.journal.losses = ["before"]
        with pytest.raises(DatabaseAway):
            await actor.submit(move, asked)
        again = await world.reloaded(actor)
        accepted = await again.submit(move, asked)
        assert accepted.seq == actor.seq + 2, "the take-over, then the move"


async def test_a_database_that_stays_away_is_asked_again_until_it_is_back(tmp_path: Path) -> None:
    """Loading the table fails too: it is tried again, and no clock or seat is lost."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player, move = mover(actor), plain_move(actor)
        world.journal.losses = ["before", "before", "after", "before"]
        with pytest.raises(DatabaseAway):
            await actor.submit(move, world.request(player))
        again = await world.reloaded(actor)
        await again.submit(move, world.request(player))
        assert world.journal.losses == []
        await world.ring(again, c.TimerKind.TURN)


async def test_a_row_lost_after_it_was_written_counts_once(tmp_path: Path) -> None:
    """Unknown at the commit: the row is there, and the same request gets its answer."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player, move = mover(actor), plain_move(actor)
        asked = world.request(player, "move")
        world.journal.losses = ["after"]
        with pytest.raises(DatabaseAway):
            await actor.submit(move, asked)
        again = await world.reloaded(actor)
        assert (await again.submit(move, asked)).seq == actor.seq + 1
        rows = await world.journal.rows(actor.table_id)
        assert sum(row.request == asked for row in rows) == 1


async def test_a_clock_that_rang_into_an_outage_is_armed_again(tmp_path: Path) -> None:
    """The database is back: nobody lost time by it, and the table does not hang."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        number = turn_of(actor).number
        world.journal.losses = ["before"]
        world.clock.advance_ms(turn_of(actor).deadline_ms - world.steady.now_ms())
        await until_lost(actor)
        again = await world.reloaded(actor)
        assert turn_of(again).number == number
        grace_ms = again.table.config.rules.takeover_grace_ms
        assert turn_of(again).deadline_ms == world.steady.now_ms() + grace_ms
        await world.ring(again, c.TimerKind.TURN)
        assert turn_of(again).number == number + 1


async def loading_for_long(world: World) -> TableActor:
    """A table whose row was lost, and whose rows do not come from the disk."""
    actor = await world.dealt()
    world.journal.losses = ["before"]
    world.journal.stuck = {actor.table_id}
    with pytest.raises(DatabaseAway):
        await actor.submit(plain_move(actor), world.request(mover(actor)))
    async with asyncio.timeout(10):
        await world.standstill.over()
        await world.journal.is_stuck.wait()
    return actor


async def test_who_asks_for_a_table_that_is_loaded_anew_waits_for_it(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await loading_for_long(world)
        asking = asyncio.create_task(world.tables.get(actor.table_id))
        await world.settled()
        world.journal.unstuck.set()
        assert await asking is not actor


async def test_that_wait_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TABLE_RELOADING: send the same again."""
    monkeypatch.setattr("services.engine.reloads.WAIT_S", 0.01)
    async with world_in(tmp_path) as world:
        actor = await loading_for_long(world)
        with pytest.raises(TableReloading):
            await world.tables.get(actor.table_id)


async def until_lost(actor: TableActor) -> None:
    watcher = actor.watchers.add("", with_view=False)
    assert await next_of(watcher) == engine_pb2.STREAM_END_REASON_TABLE_RELOADED
    watcher.close()


async def test_a_stake_whose_verdict_is_late_is_requested(tmp_path: Path) -> None:
    """The wallet is away: the caller is told so after a bounded wait, and has its seat."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        world.wallet.script.always = AWAY
        commands = PlayerCommands(hold_wait_ms=1, timeout_ms=5_000)
        asked = engine_pb2.TakeSeatRequest(table_id=actor.table_id, request_id="request-z")
        answer = await commands.take_seat(actor, "bert", asked)
        assert (answer.seat, answer.hold_status) == (1, STATUS.HOLD_STATUS_REQUESTED)
        world.wallet.script.always = None
        await until(actor, lambda state: state.seats[1].status is SeatStatus.PAID)
        answer = await commands.take_seat(actor, "bert", asked)
        assert answer.hold_status == STATUS.HOLD_STATUS_HELD


async def test_a_declined_stake_is_the_callers_error_each_time_it_asks(tmp_path: Path) -> None:
    """M1: the wallet's reason, also when the same request comes again."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        world.wallet.script.plan = [declined("INSUFFICIENT_FUNDS")]
        commands = PlayerCommands(hold_wait_ms=5_000, timeout_ms=5_000)
        asked = engine_pb2.TakeSeatRequest(table_id=actor.table_id, request_id="request-z")
        for _ in range(2):
            with pytest.raises(RpcFailure) as refusal:
                await commands.take_seat(actor, "bert", asked)
            assert refusal.value.reason == "INSUFFICIENT_FUNDS"
        asked.request_id = "another-request"
        answer = await commands.take_seat(actor, "bert", asked)
        assert answer.hold_status == STATUS.HOLD_STATUS_HELD


async def test_an_outage_is_said_once_however_many_tables_and_tries(tmp_path: Path) -> None:
    """One warning when it begins, the counts when it is over; each table and try at DEBUG."""
    async with world_in(tmp_path) as world:
        actors = [await world.dealt()]
        for letter in "uvw":
            config = TableConfig(letter * 26, seat_count=2, rules=DEFAULT_RULE_SET)
            actors.append(await world.dealt(config, (f"{letter}1", f"{letter}2")))
        world.watch_the_process()
        await world.settled()
        with structlog.testing.capture_logs() as logged:
            world.journal.hold()
            asked = [a.ask(plain_move(a), world.request(mover(a))) for a in actors]
            await world.settled()
            world.journal.is_away = True
            world.journal.let_go()
            await asyncio.gather(*asked, return_exceptions=True)
            await world.pass_ms(60_000)
            world.journal.is_away = False
            async with asyncio.timeout(10):
                await world.standstill.over()
            for actor in actors:
                await world.reloaded(actor)
        assert told(logged, "warning", "error", "critical") == ["stands_still"]
        (reloaded,) = (line for line in logged if line["event"] == "tables_reloaded")
        assert reloaded["count"] == sum(actor.is_lost for actor in actors) > 0
        assert reloaded["failures"] > 0, "reading them failed too"


async def test_a_wallet_that_is_away_is_said_once_too(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        world.wallet.script.plan = [AWAY] * 3
        with structlog.testing.capture_logs() as logged:
            actor = await world.open()
            await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        assert told(logged, "warning") == ["sink_away"]
        (back,) = (line for line in logged if line["event"] == "sink_back")
        assert (back["sink"], back["failures"]) == ("wallet", 3)


def told(logged: list[structlog.typing.EventDict], *levels: str) -> list[str]:
    return [line["event"] for line in logged if line["log_level"] in levels]
