"""A command has a deadline: its caller is told in time, and the same request tells what became of
it.
"""

import asyncio
from pathlib import Path

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2
from okey_client import action_message
from okey_runtime.errors import RpcFailure
from services.engine.actor import TableActor
from services.engine.player_commands import Numbered, PlayerCommands
from tests.unit.engine.world import mover, plain_move, turn_of, world_in

AT_ONCE_MS = 1


def move_message(actor: TableActor, request_id: str) -> engine_pb2.ActRequest:
    return engine_pb2.ActRequest(
        table_id=actor.table_id,
        request_id=request_id,
        turn=turn_of(actor).number,
        action=action_message(plain_move(actor).action),
    )


async def timed_out(asked: asyncio.Future[Numbered]) -> RpcFailure:
    with pytest.raises(RpcFailure) as failure:
        await asked
    return failure.value


@pytest.fixture
def commands() -> PlayerCommands:
    return PlayerCommands(hold_wait_ms=0, timeout_ms=5_000)


async def test_a_command_that_is_not_committed_in_time_is_answered_unknown(
    tmp_path: Path, commands: PlayerCommands
) -> None:
    """It was begun, so it counts in the end, once; the same request gets its row."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player, message = mover(actor), move_message(actor, "my-request")
        world.journal.hold()
        asked = commands.begin(actor, player, message, AT_ONCE_MS)
        failure = await timed_out(asked)
        assert (failure.code, failure.reason) == (
            grpc.StatusCode.DEADLINE_EXCEEDED,
            "COMMAND_TIMED_OUT",
        )
        before = actor.seq
        world.journal.let_go()
        again = await commands.act(actor, player, message)
        assert again.seq == actor.seq == before + 1
        rows = await world.journal.rows(actor.table_id)
        assert [row.request.request_id for row in rows if row.request][-1] == "my-request"


async def test_a_command_that_waits_behind_another_for_too_long_is_never_begun(
    tmp_path: Path, commands: PlayerCommands
) -> None:
    """Nothing was begun, so nothing is: a move does not come out of the past."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        first, player = move_message(actor, "the-first"), mover(actor)
        nonsense = engine_pb2.ForfeitRequest(table_id=actor.table_id, request_id="give-up")
        world.journal.hold()
        before = actor.seq
        moved = commands.begin(actor, player, first)
        given_up = commands.begin(actor, player, nonsense, AT_ONCE_MS)
        assert (await timed_out(given_up)).reason == "COMMAND_TIMED_OUT"
        world.journal.let_go()
        await moved
        await world.settled()
        assert actor.seq == before + 1
        assert not any(seat.gave_up for seat in actor.table.seats)


async def test_no_caller_can_wait_longer_than_the_engine_does(tmp_path: Path) -> None:
    commands = PlayerCommands(hold_wait_ms=0, timeout_ms=AT_ONCE_MS)
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        world.journal.hold()
        asked = commands.begin(actor, mover(actor), move_message(actor, "my-request"), 30_000)
        assert (await timed_out(asked)).reason == "COMMAND_TIMED_OUT"
        world.journal.let_go()
