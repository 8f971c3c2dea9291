"""Seats that an AI plays: its answers are judged like a person's, and silence is a neutral move."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog

from okey.api.bots.v1 import bots_pb2, bots_pb2_grpc
from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.rules.tile import Tile
from okey.rules.variant import BotLevel
from okey.table import commands as c
from okey.table import events as e
from okey.table.legal import LegalAction
from okey.table.state import TableState
from okey.table.view import view
from services.engine.actor import TableActor
from services.engine.ai import ActionMissing, BotWorkers, NoAnswer, Question, action_of
from tests.factories import dealt
from tests.unit.engine.world import World, mover, plain_move, turn_of, until, world_in


def plain(question: Question) -> c.Action:
    """Draw from the stock, discard the newest tile."""
    if LegalAction.DRAW_STOCK in question.view.legal_actions:
        return c.Draw(c.DrawSource.STOCK)
    assert question.view.round is not None
    return c.Discard(question.view.round.drawn or question.view.round.rack[-1])


async def give_up(world: World, actor: TableActor) -> tuple[str, str]:
    """The seat to move becomes the house's; the other player is to move when its AI has moved."""
    quitter = mover(actor)
    stayer = "anna" if quitter == "bert" else "bert"
    await actor.submit(c.Forfeit(quitter), world.request(quitter))
    return quitter, stayer


async def play_turn(world: World, actor: TableActor, player: str) -> None:
    """Wait for the player's turn and play it."""
    await until(actor, lambda state: is_turn_of(player, state))
    while is_turn_of(player, actor.table):
        await actor.submit(plain_move(actor), world.request(player))


def is_turn_of(player: str, state: TableState) -> bool:
    assert state.round is not None
    assert state.round.turn is not None
    return state.seats[state.round.turn.seat].player == player


async def test_an_ai_is_asked_with_its_own_seats_view_and_moves(tmp_path: Path) -> None:
    """W4, M9: a given-up seat is played by an AI that sees what its seat may see."""
    async with world_in(tmp_path) as world:
        world.bots.reply = plain
        actor = await world.dealt()
        seat = turn_of(actor).seat
        _, stayer = await give_up(world, actor)
        await until(actor, lambda state: is_turn_of(stayer, state))
        assert {question.view.viewer for question in world.bots.questions} == {seat}
        assert all(not question.is_stand_in for question in world.bots.questions)
        rows = await world.journal.rows(actor.table_id)
        moves = [x for row in rows for x in row.events if isinstance(x, e.TileDiscarded)]
        assert [move.is_neutral for move in moves] == [False]


@pytest.mark.parametrize("answer", [None, c.Finish(Tile.R1), c.Draw(c.DrawSource.DISCARD)])
async def test_no_good_answer_is_a_neutral_move(tmp_path: Path, answer: c.Action | None) -> None:
    """U10: workers that are away, or answer nonsense: the table never waits for a bot."""
    async with world_in(tmp_path) as world:
        world.bots.reply = lambda _: answer
        actor = await world.dealt()
        _, stayer = await give_up(world, actor)
        await until(actor, lambda state: is_turn_of(stayer, state))
        rows = await world.journal.rows(actor.table_id)
        moves = [x for row in rows for x in row.events if isinstance(x, e.TileDiscarded)]
        assert [move.is_neutral for move in moves] == [True]


async def test_bots_that_are_away_are_said_once_and_once_when_they_are_back(tmp_path: Path) -> None:
    """U10: however many turns they miss; how many that are is a metric."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        with structlog.testing.capture_logs() as logged:
            world.bots.reply = lambda _: None
            _, stayer = await give_up(world, actor)
            for _ in range(3):
                await play_turn(world, actor, stayer)
            await until(actor, lambda state: is_turn_of(stayer, state))
            world.bots.reply = plain
            await play_turn(world, actor, stayer)
            await until(actor, lambda state: is_turn_of(stayer, state))
        said = [line["event"] for line in logged if line["event"].startswith("bot")]
        assert said == ["bots_away", *["bots_failed"] * 4, "bots_back"]
        assert [line["log_level"] for line in logged].count("warning") == 1


async def test_a_stand_in_plays_until_its_player_is_back(tmp_path: Path) -> None:
    """U7, U8: after the second time-out an AI minds the seat; coming back ends that at once."""
    async with world_in(tmp_path) as world:
        world.bots.reply = plain
        actor = await world.dealt()
        absent = mover(actor)
        present = "anna" if absent == "bert" else "bert"
        await world.ring(actor, c.TimerKind.TURN)
        await pass_turn(world, actor, present)
        await world.ring(actor, c.TimerKind.TURN)
        await until(actor, lambda state: is_turn_of(present, state))
        assert all(question.is_stand_in for question in world.bots.questions)
        assert len(world.bots.questions) == 2
        await actor.submit(c.ReturnToSeat(absent), world.request(absent))
        await pass_turn(world, actor, present)
        assert mover(actor) == absent
        assert len(world.bots.questions) == 2


async def pass_turn(world: World, actor: TableActor, player: str) -> None:
    turn = turn_of(actor)
    assert mover(actor) == player
    draw = c.PlayerMove(player, turn.number, c.Draw(c.DrawSource.STOCK))
    await actor.submit(draw, world.request(player))
    drawn = turn_of(actor).drawn
    assert drawn is not None
    discard = c.PlayerMove(player, turn.number, c.Discard(drawn))
    await actor.submit(discard, world.request(player))


@pytest.mark.parametrize(
    ("message", "action"),
    [
        (
            table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock()),
            c.Draw(c.DrawSource.STOCK),
        ),
        (
            table_pb2.Action(draw_from_discard=table_pb2.DrawFromDiscard()),
            c.Draw(c.DrawSource.DISCARD),
        ),
        (table_pb2.Action(discard=table_pb2.Discard(tile=common_pb2.TILE_R5)), c.Discard(Tile.R5)),
        (table_pb2.Action(finish=table_pb2.Finish(tile=common_pb2.TILE_S)), c.Finish(Tile.S)),
        (table_pb2.Action(announce_cift=table_pb2.AnnounceCift()), c.AnnounceCift()),
        (table_pb2.Action(withdraw_cift=table_pb2.WithdrawCift()), c.WithdrawCift()),
        (table_pb2.Action(show_gosterge=table_pb2.ShowGosterge()), c.ShowGosterge()),
    ],
)
def test_every_action_has_a_message(message: table_pb2.Action, action: c.Action) -> None:
    assert action_of(message) == action


def test_a_message_without_action_is_refused() -> None:
    with pytest.raises(ActionMissing):
        action_of(table_pb2.Action())


class Worker(bots_pb2_grpc.BotServiceServicer):
    """A bot worker that answers with a given action, or refuses quoting a tile."""

    def __init__(self, action: table_pb2.Action | None) -> None:
        self._action = action

    async def ChooseAction(
        self, request: bots_pb2.ChooseActionRequest, context: Any
    ) -> bots_pb2.ChooseActionResponse:
        if self._action is None:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "rack R1 is odd")
        return bots_pb2.ChooseActionResponse(action=self._action)


@asynccontextmanager
async def workers(action: table_pb2.Action | None) -> AsyncIterator[BotWorkers]:
    server = grpc.aio.server()
    bots_pb2_grpc.add_BotServiceServicer_to_server(Worker(action), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield BotWorkers(channel)
    await server.stop(None)


def question() -> Question:
    return Question(view(dealt().state, 0), BotLevel.STRONG, False)


async def test_workers_answers_are_read() -> None:
    async with workers(table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())) as bots:
        assert await bots.choose(question(), 5.0) == c.Draw(c.DrawSource.STOCK)


@pytest.mark.parametrize("action", [None, table_pb2.Action()])
async def test_a_workers_refusal_or_nonsense_is_no_answer_and_quotes_no_tile(
    action: table_pb2.Action | None,
) -> None:
    """U10; a log line carries no tile of a hidden rack."""
    async with workers(action) as bots:
        with pytest.raises(NoAnswer) as refusal:
            await bots.choose(question(), 5.0)
        assert "R1" not in str(refusal.value)
