"""Play: one stream up and down; every command is answered, whatever is wrong with it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from okey.api.engine.v1 import engine_pb2, table_pb2
from okey_runtime.config import ServiceSettings
from okey_runtime.errors import from_rpc_error
from services.engine import play
from services.engine.play import MOST_IN_FLIGHT
from tests.fixtures.issuer import TEN_MINUTES_MS
from tests.integration.engine.platform import (
    Platform,
    act,
    plain_action,
    platform,
    playing,
    refused,
    view_of,
)
from tests.integration.engine.play_stream import reason_of, stream_of

CODE = grpc.StatusCode
SKEW_MS: int = ServiceSettings.model_fields["token_skew_ms"].default
End = engine_pb2.StreamEndReason


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Platform]:
    async with platform(tmp_path, clock_factor=20) as running:
        yield running


def nonce(table_id: str, request_id: str, content: bytes = b"n" * 32) -> engine_pb2.PlayRequest:
    added = engine_pb2.AddNonceRequest(table_id=table_id, request_id=request_id, nonce=content)
    return engine_pb2.PlayRequest(add_nonce=added)


async def test_play_carries_commands_up_and_results_and_updates_down(world: Platform) -> None:
    """The same request twice is one row; a stale one is refused; the sender's end is the end."""
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach(view.seq)
        for name in ("a-draw-or-discard", "a-draw-or-discard", "a-stale-move"):
            await stream.say(engine_pb2.PlayRequest(act=act(world, view, name)))
        first, again, stale = await stream.until_answered(3)
        await stream.until_seq(view.seq + 1)
        assert first.seq == again.seq == stream.seqs[0] == view.seq + 1
        assert [result.request_id for result in stream.results] == [
            "a-draw-or-discard",
            "a-draw-or-discard",
            "a-stale-move",
        ]
        assert (stale.seq, stale.error.code) == (0, CODE.FAILED_PRECONDITION.value[0])
        await stream.call.done_writing()
        await stream.rest()
        assert stream.end is None
        assert await stream.call.code() is CODE.OK


async def test_who_says_its_last_word_still_gets_every_answer(world: Platform) -> None:
    """Half-closing right after the commands loses none of their answers."""
    table_id = await world.open_table("anna")
    async with stream_of(world, "anna", table_id) as stream:
        await stream.attach()
        count = 3 * MOST_IN_FLIGHT
        for number in range(count):
            await stream.say(nonce(table_id, f"nonce-{number:03}"))
        await stream.call.done_writing()
        await stream.rest()
    answers = stream.results
    assert [result.request_id for result in answers] == [f"nonce-{n:03}" for n in range(count)]
    assert [bool(result.seq) for result in answers] == [True] + [False] * (count - 1)
    assert {reason_of(result) for result in answers[1:]} == {"NONCE_ALREADY_ADDED"}


async def test_a_malformed_message_is_answered_and_the_stream_goes_on(world: Platform) -> None:
    table_id = await world.open_table("anna")
    async with stream_of(world, "anna", table_id) as stream:
        await stream.attach()
        await stream.say(b"\xff\xff\xff")
        await stream.say(nonce(table_id, "short-nonce", b"short"))
        await stream.say(engine_pb2.PlayRequest())
        await stream.attach()
        await stream.say(nonce("z" * 26, "elsewhere"))
        leave = engine_pb2.LeaveSeatRequest(
            table_id=table_id, request_id="leave-as-bert", player="bert"
        )
        await stream.say(engine_pb2.PlayRequest(leave_seat=leave))
        await stream.say(nonce(table_id, "a-good-one"))
        answers = await stream.until_answered(7)
    assert [(result.request_id, reason_of(result)) for result in answers] == [
        ("", "MALFORMED_REQUEST"),
        ("short-nonce", "INVALID_FIELD"),
        ("", "INVALID_FIELD"),
        ("", "ATTACH_FIRST"),
        ("elsewhere", "OTHER_TABLE"),
        ("leave-as-bert", "PLAYER_NOT_CALLER"),
        ("a-good-one", ""),
    ]


@pytest.mark.parametrize("first", [b"\xff\xff\xff", nonce("a" * 26, "request-z")])
async def test_play_begins_with_attach(
    world: Platform, first: engine_pb2.PlayRequest | bytes
) -> None:
    async with stream_of(world, "anna", "a" * 26) as stream:
        await stream.say(first)
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await stream.read()
        assert refusal.value.code() is CODE.INVALID_ARGUMENT


async def test_a_command_counts_once_over_a_crash_of_the_engine(world: Platform) -> None:
    """The answer was lost with the engine: the same request on a new stream gets it, and the rows
    since the cursor.
    """
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    move = engine_pb2.PlayRequest(act=act(world, view, "the-only-move"))
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach(view.seq)
        await stream.say(move)
        (before,) = await stream.until_answered(1)
    await world.stop_engine()
    await world.start_engine()
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach(view.seq)
        await stream.say(move)
        (after,) = await stream.until_answered(1)
        assert after == before
        await stream.until_seq(before.seq + 1)
        assert stream.seqs == [before.seq, before.seq + 1], "the move, and the take-over"


async def test_a_stopping_engine_ends_the_stream_with_a_reason_and_the_cursor(
    world: Platform,
) -> None:
    table_id = await world.open_table("anna")
    async with stream_of(world, "anna", table_id) as stream:
        await stream.attach()
        await stream.read()
        await (await world.operator()).Drain(engine_pb2.DrainRequest())
        await stream.rest()
        assert stream.end is not None
        assert stream.end.reason == End.STREAM_END_REASON_SHUTTING_DOWN
        assert stream.end.seq == stream.seqs[-1]


async def test_a_stream_ends_with_its_token_and_goes_on_with_another(world: Platform) -> None:
    """The token's end cuts commands and updates; a new token resumes after the cursor."""
    table_id, mover, _ = await playing(world)
    async with stream_of(world, mover, table_id, ttl_ms=1_000 - SKEW_MS) as stream:
        await stream.attach()
        await stream.rest()
        assert stream.end is not None
        assert stream.end.reason == End.STREAM_END_REASON_TOKEN_EXPIRED
        cursor = stream.end.seq
    view = await view_of(world, table_id, mover)
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach(cursor)
        await stream.say(engine_pb2.PlayRequest(act=act(world, view)))
        (result,) = await stream.until_answered(1)
        assert result.seq > cursor


@pytest.mark.parametrize(
    ("ttl_ms", "within_s", "reason"),
    [(1_000 - SKEW_MS, 60.0, "TOKEN_EXPIRED"), (TEN_MINUTES_MS, 0.5, "ATTACH_FIRST")],
)
async def test_a_stream_that_never_attaches_outlives_neither_its_token_nor_its_time(
    world: Platform, monkeypatch: pytest.MonkeyPatch, ttl_ms: int, within_s: float, reason: str
) -> None:
    """Else an ended token would still show its player's tiles."""
    monkeypatch.setattr(play, "ATTACH_WITHIN_S", within_s)
    table_id, mover, _ = await playing(world)
    async with stream_of(world, mover, table_id, ttl_ms=ttl_ms) as stream:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            async with asyncio.timeout(10):
                await stream.read()
    assert from_rpc_error(failed.value).reason == reason


async def test_in_maintenance_the_table_itself_answers_who_plays_on(world: Platform) -> None:
    table_id = await world.open_table("anna")
    await (await world.operator()).SetMaintenance(engine_pb2.SetMaintenanceRequest(is_on=True))
    async with stream_of(world, "anna", table_id) as stream:
        await stream.attach()
        asked = engine_pb2.PlayOnRequest(table_id=table_id, request_id="play-on-please")
        await stream.say(engine_pb2.PlayRequest(play_on=asked))
        (result,) = await stream.until_answered(1)
    assert reason_of(result) == "NOT_DECIDING"
    asked.request_id = "play-on-once-more"
    refusal = await refused((await world.tables_as("anna")).PlayOn(asked))
    assert refusal.reason == "NOT_DECIDING"


async def test_a_player_may_have_several_streams_for_a_table(world: Platform) -> None:
    """Each gets every update, and the results of its own commands."""
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    async with (
        stream_of(world, mover, table_id) as stream,
        stream_of(world, mover, table_id) as other,
    ):
        await stream.attach(view.seq)
        await other.attach(view.seq)
        await stream.say(engine_pb2.PlayRequest(act=act(world, view)))
        (result,) = await stream.until_answered(1)
        assert result.seq == view.seq + 1
        async with asyncio.timeout(10):
            answer = await other.read()
        assert answer is not None
        assert answer.WhichOneof("message") == "update"
        assert answer.update.seq == result.seq


async def test_views_come_with_the_rows_where_they_are_asked_for(world: Platform) -> None:
    table_id, mover, _ = await playing(world)
    view = await view_of(world, table_id, mover)
    async with stream_of(world, mover, table_id) as stream:
        await stream.attach(view.seq, views=True)
        await stream.say(engine_pb2.PlayRequest(act=act(world, view)))
        answer = await stream.read()
        while answer is not None and answer.WhichOneof("message") != "update":
            answer = await stream.read()
        assert answer is not None
        assert answer.update.view.seq == view.seq + 1
        assert answer.update.view.viewer == view.viewer
        assert plain_action(answer.update.view) is not None or (
            table_pb2.LEGAL_ACTION_DISCARD not in answer.update.view.legal_actions
        )
