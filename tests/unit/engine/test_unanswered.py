"""A seat is not kept for ever for a stake about which the wallet says nothing."""

import asyncio
from dataclasses import replace
from pathlib import Path

from okey.api.wallet.v1 import wallet_pb2
from okey.table import commands as c
from okey.table.state import Phase, SeatStatus
from services.engine.unanswered import HOLD_DEADLINE_MS, overdue_holds
from tests.factories import opened
from tests.unit.engine.doubles import AWAY, Script
from tests.unit.engine.world import TABLE_ID, until, world_in

FREE, REQUESTED, PAID = SeatStatus.FREE, SeatStatus.REQUESTED, SeatStatus.PAID


def voided(script: Script) -> list[wallet_pb2.VoidHoldRequest]:
    return [call for call in script.calls if isinstance(call, wallet_pb2.VoidHoldRequest)]


async def asked_again(script: Script) -> None:
    """Return once the wallet was asked once more."""
    asked = len(script.calls)
    await script.until(lambda script: len(script.calls) > asked)


async def test_a_seat_is_free_again_when_the_wallet_was_silent_for_too_long(
    tmp_path: Path,
) -> None:
    """M1: whoever paid keeps its seat; what the wallet may have held all the same goes back."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is PAID)
        script = world.wallet.script
        script.always = AWAY
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        hold_id = actor.table.seats[1].hold_id
        world.clock.advance_ms(HOLD_DEADLINE_MS - 1)
        asked = len(script.calls)
        await script.until(lambda script: len(script.calls) > asked + 1)
        assert actor.table.seats[1].status is REQUESTED
        world.clock.advance_ms(1)
        await until(actor, lambda state: state.seats[1].status is FREE)
        assert actor.table.seats[0].status is PAID
        script.always = None
        await script.until(lambda script: "VoidHold" in script.names)
        assert [call.hold_id for call in voided(script)] == [hold_id]
        assert actor.table.phase is Phase.WAITING


async def test_stakes_that_wait_behind_another_one_have_their_deadline_too(
    tmp_path: Path,
) -> None:
    """The wallet is asked in order; a table whose people are all gone closes (Ç10)."""
    async with world_in(tmp_path) as world:
        world.wallet.script.always = AWAY
        actor = await world.open()
        world.clock.advance_ms(HOLD_DEADLINE_MS // 2)
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        world.clock.advance_ms(HOLD_DEADLINE_MS // 2)
        await until(actor, lambda state: state.seats[0].status is FREE)
        assert actor.table.seats[1].status is REQUESTED
        world.clock.advance_ms(HOLD_DEADLINE_MS // 2)
        await until(actor, lambda state: state.phase is Phase.CLOSED)
        world.wallet.script.always = None
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        assert len(voided(world.wallet.script)) == 2


async def test_what_the_engine_missed_counts_against_nobody(tmp_path: Path) -> None:
    """It was down, or stood still, while the wallet was away too: the wait begins anew."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is PAID)
        script = world.wallet.script
        script.always = AWAY
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        await world.crash()
        world.clock.advance_ms(HOLD_DEADLINE_MS)
        await world.boot()
        again = await world.tables.get(TABLE_ID)
        world.clock.advance_ms(HOLD_DEADLINE_MS - 1)
        await again.go_on("engine", world.steady.now_ms())
        world.clock.advance_ms(HOLD_DEADLINE_MS - 1)
        asked = len(script.calls)
        await script.until(lambda script: len(script.calls) > asked + 1)
        assert again.table.seats[1].status is REQUESTED
        world.clock.advance_ms(1)
        await until(again, lambda state: state.seats[1].status is FREE)


async def test_a_silence_that_is_heard_of_in_a_standstill_frees_no_seat(tmp_path: Path) -> None:
    """The engine was paused while it waited for the wallet, and stands still when that ends."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status is PAID)
        world.watch_the_process()
        await world.settled()
        script = world.wallet.script
        script.always = AWAY
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        world.journal.is_away = True
        world.clock.advance_ms(HOLD_DEADLINE_MS)
        await asked_again(script)
        world.journal.is_away = False
        async with asyncio.timeout(10):
            await world.standstill.over()
        await asked_again(script)
        assert actor.table.seats[1].status is REQUESTED


def test_a_table_with_a_kasa_keeps_its_seats() -> None:
    """Ç9: an outage of the wallet does not take the kasa from who plays on for it."""
    table = opened().state
    call = wallet_pb2.HoldStakeRequest(hold_id=table.seats[0].hold_id)
    waiting = [(0, call)]
    player = table.seats[0].player
    assert list(overdue_holds(waiting, table, HOLD_DEADLINE_MS)) == [c.LeaveSeat(player)]
    assert list(overdue_holds(waiting, table, HOLD_DEADLINE_MS - 1)) == []
    with_kasa = replace(table, kasa=20)
    assert list(overdue_holds(waiting, with_kasa, HOLD_DEADLINE_MS)) == []


def test_a_stake_that_nobody_waits_for_frees_no_seat() -> None:
    """It was paid, or its player left and sat down anew, under another hold."""
    table = opened().state
    call = wallet_pb2.HoldStakeRequest(hold_id=f"{table.match_id}-0-99")
    void = wallet_pb2.VoidHoldRequest(hold_id=table.seats[0].hold_id)
    assert list(overdue_holds([(0, call), (0, void)], table, HOLD_DEADLINE_MS)) == []
