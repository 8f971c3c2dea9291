"""kill -9 of any one process in mid-round: it comes back and the table goes on where it was."""

import asyncio

import pytest

from okey.api.engine.v1 import engine_pb2, engine_pb2_grpc, table_pb2
from okey_client import Change, autoplay
from okey_runtime.channel import open_channel
from okey_runtime.seal_keys import rotate_seal_keys
from services.okeyctl import audit
from services.okeyctl.demo.platform import StartedPlatform
from services.standalone.plan import seal_keys_file
from tests.e2e.match import (
    WELCOME_CHIPS,
    Seated,
    Tables,
    house_bonus,
    is_mid_round,
    is_over,
    kill,
    play_to_the_end,
    require_no_chip_lost,
)

QUICK = ("engine", "wallet")
SLOW = ("lobby", "rating", "bots", "valkey")
VICTIMS = [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in SLOW)]


def standing(view: table_pb2.TableView) -> dict[str, object]:
    """What must not change by a crash: who holds what, whose turn it is, what is played for."""
    running = view.round
    return {
        "rack": list(running.rack),
        "drawn": running.drawn,
        "turn": (running.turn.number, running.turn.seat, running.turn.has_drawn),
        "stock": running.stock_count,
        "gosterge": running.gosterge,
        "piles": [list(seat.pile) for seat in view.seats],
        "controls": [seat.control for seat in view.seats],
        "chips": (view.pot, view.kasa),
        "match": (view.match_id, view.match_no, running.round_no),
        "commitment": view.commitment,
    }


async def looks(seated: list[Seated]) -> list[table_pb2.TableView]:
    return [await own.table.get() for own in seated]


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_killed_process_comes_back_and_the_table_stands_as_it_stood(
    platform: StartedPlatform, tables: Tables, victim: str
) -> None:
    """M5, U4: same racks, same turn, a clock that never has more than its full time, same chips."""
    bonus = await house_bonus(platform)
    seated = await tables.seat_mid_round()
    before = await looks(seated)
    await kill(platform, victim)
    after = await looks(seated)
    assert [standing(view) for view in after] == [standing(view) for view in before]
    for view in after:
        left_ms = view.round.turn.deadline_ms - view.server_time_ms
        assert 0 < left_ms <= view.config.turn_timeout_ms
    end = await play_to_the_end(seated)
    await require_no_chip_lost(platform, seated, end, bonus)


async def test_an_engine_that_comes_back_without_its_key_voids_the_running_match_and_plays_others(
    platform: StartedPlatform, tables: Tables
) -> None:
    """M10: every stake goes back, the ledger is right, and new matches start."""
    bonus = await house_bonus(platform)
    seated = await tables.seat_mid_round()
    [round_before, *_] = await looks(seated)
    file = seal_keys_file(platform.data_dir)
    file.unlink()
    rotate_seal_keys(file)
    await kill(platform, "engine")
    [voided, *_] = await looks(seated)
    assert is_over(voided)
    assert voided.commitment != round_before.commitment
    while [await own.chips() for own in seated] != [WELCOME_CHIPS] * len(seated):
        await platform.until(lambda now: now.is_ready)
    audited = await audit.audit(platform.operator("wallet"), [], lambda _: None, freeze=False)
    assert audited.findings == []
    fresh = await tables.seat_mid_round()
    end = await play_to_the_end(fresh)
    await require_no_chip_lost(platform, fresh, end, bonus)


@pytest.mark.long
async def test_a_drained_engine_ends_in_peace_and_a_fresh_one_goes_on(
    platform: StartedPlatform, tables: Tables
) -> None:
    """M5: an operator's Drain ends the process with status 0; the table stands as it stood."""
    bonus = await house_bonus(platform)
    seated = await tables.seat_mid_round()
    before = await looks(seated)
    pid = platform.state.processes["engine"].pid
    way = platform.operator("engine")
    async with open_channel(way.address, token=way.token) as channel:
        await engine_pb2_grpc.OperatorServiceStub(channel).Drain(engine_pb2.DrainRequest())
    await platform.until(lambda now: now.is_ready and now.processes["engine"].pid != pid)
    assert "engine ended with status 0; it starts again" in platform.output()
    after = await looks(seated)
    assert [standing(view) for view in after] == [standing(view) for view in before]
    end = await play_to_the_end(seated)
    await require_no_chip_lost(platform, seated, end, bonus)


@pytest.mark.long
@pytest.mark.parametrize("victim", [*QUICK, *SLOW])
async def test_a_process_killed_while_people_play_stops_nobody(
    platform: StartedPlatform, tables: Tables, victim: str
) -> None:
    """M5: players whose clients simply go on finish their match, and every chip is there."""
    bonus = await house_bonus(platform)
    seated = await tables.seat()
    reached = asyncio.Event()

    def notice(change: Change) -> None:
        if is_mid_round(change.view):
            reached.set()

    async with asyncio.TaskGroup() as group:
        playing = [
            group.create_task(autoplay(own.table, is_over, on_change=notice)) for own in seated
        ]
        await reached.wait()
        await kill(platform, victim)
    end = playing[0].result().view
    assert is_over(end)
    await require_no_chip_lost(platform, seated, end, bonus)
