"""A played table: commands over broken, cut and redirected streams, each of which counts once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2
from okey.rules.tile import Tile
from okey.table.commands import Discard
from okey_client import Change, RetryPolicy, RpcFailure
from tests.integration.client.scripted_play import (
    TABLE,
    End,
    Line,
    World,
    closes,
    running,
)

MOVE = Discard(Tile.R1)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path, RetryPolicy().deadline_ms) as world:
        yield world


@pytest.fixture
async def impatient(tmp_path: Path) -> AsyncIterator[World]:
    """Where no command waits for long."""
    async with running(tmp_path, 200) as world:
        yield world


async def test_a_command_is_awaited_while_changes_come(world: World) -> None:
    """The answer comes although nobody iterates meanwhile; no change is lost by it."""

    async def script(line: Line) -> None:
        await line.show(4)
        asked = (await line.hear()).act
        assert (asked.table_id, asked.turn) == (TABLE, 7)
        assert asked.action.discard.tile == common_pb2.TILE_R1
        await line.row(5)
        await line.answer(asked.request_id, 6)
        await line.row(6)
        await closes(line)

    world.home.scripts = [script]
    seen: list[int] = []
    async with world.play() as seat:
        async for change in seat:
            seen.append(change.seq)
            if change.seq == 4:
                assert await seat.act(7, MOVE) == 6
    assert seen == [4, 5, 6]
    assert seat.end_reason == End.STREAM_END_REASON_TABLE_CLOSED


async def test_many_commands_may_be_under_way(world: World) -> None:
    """Answers find whoever waits for them, in whatever order they come."""

    async def script(line: Line) -> None:
        await line.show(1)
        asked = [await line.hear() for _ in range(3)]
        ids = [getattr(each, each.WhichOneof("message") or "").request_id for each in asked]
        for seq, request_id in reversed(list(enumerate(ids, start=10))):
            await line.answer(request_id, seq)
        await line.hear()

    world.home.scripts = [script]
    async with world.play() as seat:
        seqs = await asyncio.gather(seat.forfeit(), seat.return_to_seat(), seat.leave())
    assert tuple(seqs) == (10, 11, 12)


async def test_a_refusal_is_the_commands_and_not_the_streams(world: World) -> None:
    async def script(line: Line) -> None:
        await line.show(1)
        asked = (await line.hear()).act
        code = grpc.StatusCode.FAILED_PRECONDITION
        await line.refuse(asked.request_id, code, "TURN_OVER")
        await line.answer((await line.hear()).play_on.request_id, 2)
        await line.hear()

    world.home.scripts = [script]
    async with world.play() as seat:
        with pytest.raises(RpcFailure) as refusal:
            await seat.act(1, MOVE)
        assert (refusal.value.reason, refusal.value.metadata) == ("TURN_OVER", {"a": "b"})
        assert refusal.value.code is grpc.StatusCode.FAILED_PRECONDITION
        assert await seat.play_on() == 2


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNAVAILABLE, "DATABASE_AWAY"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "COMMAND_TIMED_OUT"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "TABLE_BUSY"),
    ],
)
async def test_what_may_count_or_not_is_asked_again_under_its_id(
    world: World, code: grpc.StatusCode, reason: str
) -> None:
    ids: list[str] = []

    async def script(line: Line) -> None:
        await line.show(1)
        for _ in range(2):
            ids.append((await line.hear()).act.request_id)
            await line.refuse(ids[-1], code, reason)
        ids.append((await line.hear()).act.request_id)
        await line.answer(ids[-1], 9)
        await line.hear()

    world.home.scripts = [script]
    async with world.play() as seat:
        assert await seat.act(1, MOVE) == 9
    assert len(ids) == 3
    assert len(set(ids)) == 1


async def test_a_command_without_an_answer_goes_to_the_next_stream(world: World) -> None:
    """Cut after the command came: the stream is resumed after the last row, the command asked
    again, once, under its id.
    """
    asked: list[engine_pb2.PlayRequest] = []

    async def cut(line: Line) -> None:
        await line.show(4)
        asked.append(await line.hear())
        await line.end(End.STREAM_END_REASON_TABLE_RELOADED)

    async def resumed(line: Line) -> None:
        asked.append(await line.hear())
        await line.row(5)
        await line.answer(asked[-1].act.request_id, 5)
        await closes(line)

    world.home.scripts = [cut, resumed]
    changes: list[Change] = []
    async with world.play() as seat:
        async for change in seat:
            changes.append(change)
            if change.seq == 4:
                assert await seat.act(1, MOVE) == 5
    assert [change.seq for change in changes] == [4, 5]
    assert world.home.cursors == [None, 4]
    assert asked[0] == asked[1]


async def test_a_command_follows_the_table_to_another_engine(world: World) -> None:
    async def moved(line: Line) -> None:
        await line.show(4)
        await line.hear()
        await line.end(End.STREAM_END_REASON_MOVED, world.other_address)

    async def there(line: Line) -> None:
        await line.answer((await line.hear()).forfeit.request_id, 5)
        await line.row(5)
        await closes(line)

    world.home.scripts, world.other.scripts = [moved], [there]
    async with world.play() as seat:
        assert await seat.forfeit() == 5
        assert [change.seq async for change in seat] == [4, 5]
    assert world.other.cursors == [4]


@pytest.mark.parametrize("is_known", [False, True])
async def test_a_command_does_not_wait_for_an_engine_that_hangs(
    impatient: World, is_known: bool
) -> None:
    """It says nothing, and its connection stands: the stream is hung up and opened at the usual
    address, where by now somebody else may have the table.
    """
    world, asked = impatient, list[engine_pb2.PlayRequest]()

    async def moved(line: Line) -> None:
        await line.show(4)
        await line.end(End.STREAM_END_REASON_MOVED, world.other_address)

    async def hangs(line: Line) -> None:
        if not is_known:
            await line.show(4)
        asked.append(await line.hear())
        await asyncio.Event().wait()

    async def goes_on(line: Line) -> None:
        asked.append(await line.hear())
        await line.row(5)
        await line.answer(asked[-1].act.request_id, 5)
        await closes(line)

    world.home.scripts, world.other.scripts = [hangs, goes_on], []
    if is_known:
        world.home.scripts, world.other.scripts = [moved, goes_on], [hangs]
    async with asyncio.timeout(10), world.play() as seat:
        assert await seat.act(1, MOVE) == 5
        assert [change.seq async for change in seat] == [4, 5]
    assert asked[0] == asked[1]
    assert world.home.cursors == [None, 4]


async def test_when_nothing_comes_any_more_whoever_waits_is_told(world: World) -> None:
    async def away(line: Line) -> None:
        await line.end(End.STREAM_END_REASON_SHUTTING_DOWN)

    world.home.scripts = [away] * 3
    async with world.play() as seat:
        with pytest.raises(RpcFailure, match="SHUTTING_DOWN"):
            await seat.forfeit()
        with pytest.raises(RpcFailure, match="SHUTTING_DOWN"):
            await anext(aiter(seat))


async def test_a_closed_table_takes_no_commands(world: World) -> None:
    world.home.scripts = [closes]
    async with world.play() as seat:
        assert [change async for change in seat] == []
        with pytest.raises(RpcFailure) as refusal:
            await seat.forfeit()
    assert refusal.value.reason == "TABLE_CLOSED"


async def test_the_command_that_closes_the_table_is_answered_all_the_same(world: World) -> None:
    """Its answer may come too late for the stream, which ends with the table."""
    asked: list[str] = []

    async def script(line: Line) -> None:
        await line.show(4)
        asked.append((await line.hear()).leave_seat.request_id)
        await closes(line)

    world.home.scripts = [script]
    async with world.play() as seat:
        assert await seat.leave() == 9
    assert world.home.left == asked


async def test_a_nonce_is_added_over_the_same_stream(world: World) -> None:
    """T9: one random nonce for a commitment, by itself; not wanted any more is fine."""
    nonces: list[bytes] = []

    async def script(line: Line) -> None:
        await line.show(1, takes_nonces=True)
        asked = (await line.hear()).add_nonce
        nonces.append(asked.nonce)
        code = grpc.StatusCode.FAILED_PRECONDITION
        await line.refuse(asked.request_id, code, "NONCE_TOO_LATE")
        await line.row(2)
        await closes(line)

    world.home.scripts = [script]
    async with world.play() as seat:
        assert [change.seq async for change in seat] == [1, 2]
    assert [len(nonce) for nonce in nonces] == [32]
