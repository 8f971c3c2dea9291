"""Seats that an AI plays: bot workers are asked; where none answers well the move is neutral."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import grpc

from okey.api.bots.v1 import bots_pb2, bots_pb2_grpc
from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import table_pb2
from okey.errors import InvalidInput, OkeyError
from okey.rules.tile import Tile
from okey.rules.variant import HOUSE_SEAT_LEVEL, BotLevel
from okey.table import commands as c
from okey.table.state import TableState, Turn
from okey.table.view import TableView, view
from okey_runtime.clock import Clock
from okey_runtime.codec import encode
from okey_runtime.errors import from_rpc_error
from okey_runtime.logging import get_logger
from okey_runtime.outage import Outage
from services.engine.actor import TableActor
from services.engine.background import say_failure
from services.engine.metrics import BOT_ANSWERS

_log = get_logger(__name__)


class NoAnswer(Exception):
    """No worker answered in time, or none gave an answer that can be read."""


class ActionMissing(InvalidInput):
    """A message holds no action."""

    reason = "ACTION_MISSING"


@dataclass(frozen=True, slots=True)
class Question:
    """What a bot is asked: exactly what its seat may see."""

    view: TableView
    level: BotLevel
    is_stand_in: bool


class Chooser(Protocol):
    """Who chooses for AI seats; ``BotWorkers`` is the one for production."""

    async def choose(self, question: Question, timeout_s: float) -> c.Action:
        """An action, or ``NoAnswer``."""
        ...


class BotWorkers:
    """The bots service."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = bots_pb2_grpc.BotServiceStub(channel)

    async def choose(self, question: Question, timeout_s: float) -> c.Action:
        """Ask a worker once.

        Raises:
            NoAnswer: it is away, slow, refuses, or says nothing that can be read.
        """
        request = bots_pb2.ChooseActionRequest(
            view=encode(question.view, table_pb2.TableView),
            level=common_pb2.BotLevel.ValueType(question.level),
            is_stand_in=question.is_stand_in,
            seed=secrets.randbits(62),
        )
        try:
            response = await self._stub.ChooseAction(request, timeout=timeout_s)
            return action_of(response.action)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            # Not the message: it may quote tiles of the seat, and this is logged.
            raise NoAnswer(f"{failure.code.name} {failure.reason}") from error
        except (OkeyError, ValueError) as error:
            raise NoAnswer(f"unreadable action ({type(error).__name__})") from error


class AiSeats:
    """Plays every seat that an AI has to play; a task a table, only while there is such a turn."""

    def __init__(self, chooser: Chooser, clock: Clock, pace_ms: int, timeout_ms: int) -> None:
        self._chooser = chooser
        self._clock = clock
        self._pace_ms = pace_ms
        self._timeout_s = timeout_ms / 1000
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._outage = Outage("bots", NoAnswer)

    def consider(self, actor: TableActor) -> None:
        """Called after each commit: if an AI is to move now, see to it."""
        if actor.table_id in self._tasks or ai_turn(actor.table) is None:
            return
        task = asyncio.create_task(self._play(actor), name=f"ai-{actor.table_id}")
        task.add_done_callback(say_failure)
        self._tasks[actor.table_id] = task

    def forget(self, table_id: str) -> None:
        """Stop playing at a table that is let go."""
        task = self._tasks.pop(table_id, None)
        if task is not None:
            task.cancel()

    async def _play(self, actor: TableActor) -> None:
        try:
            await self._play_turns(actor)
        finally:
            if self._tasks.get(actor.table_id) is asyncio.current_task():
                del self._tasks[actor.table_id]

    async def _play_turns(self, actor: TableActor) -> None:
        while (turn := ai_turn(actor.table)) is not None:
            asked_at = actor.seq
            if self._pace_ms:
                await self._clock.sleep_until_ms(self._clock.monotonic_ms() + self._pace_ms)
            if actor.seq != asked_at:
                continue  # somebody else moved, or came back, meanwhile
            await self._act(actor, turn)
            if actor.seq == asked_at:
                return  # nothing moves it; the turn's clock will

    async def _act(self, actor: TableActor, turn: Turn) -> None:
        """Ask and move; where that fails, move neutrally (U10)."""
        try:
            with self._outage.asking():
                action = await self._chooser.choose(_question(actor.table, turn), self._timeout_s)
        except NoAnswer:
            BOT_ANSWERS.labels("NO_ANSWER").inc()
        else:
            if await _accepted(actor, c.BotMove(turn.seat, turn.number, action), "MOVE"):
                return
        await _accepted(actor, c.NeutralMove(turn.seat, turn.number), "NEUTRAL")


async def _accepted(actor: TableActor, command: c.Command, code: str) -> bool:
    try:
        await actor.post(command)
    except OkeyError as error:
        BOT_ANSWERS.labels("REFUSED").inc()
        _log.info("ai_move_refused", table_id=actor.table_id, reason=error.reason)
        return False
    BOT_ANSWERS.labels(code).inc()
    return True


def ai_turn(state: TableState) -> Turn | None:
    """The running turn, if an AI has to play it."""
    if state.round is None or state.round.turn is None:
        return None
    turn = state.round.turn
    return turn if state.seats[turn.seat].is_ai_played else None


def _question(state: TableState, turn: Turn) -> Question:
    house = state.seats[turn.seat].house
    return Question(view(state, turn.seat), house or HOUSE_SEAT_LEVEL, house is None)


def action_of(message: table_pb2.Action) -> c.Action:
    """An action from its message.

    Raises:
        ActionMissing: there is none in it.
    """
    case = message.WhichOneof("action")
    if case == "discard":
        return c.Discard(Tile(message.discard.tile))
    if case == "finish":
        return c.Finish(Tile(message.finish.tile))
    simple = _SIMPLE.get(case or "")
    if simple is None:
        raise ActionMissing("the message holds no action known here")
    return simple()


_SIMPLE: Final[dict[str, Callable[[], c.Action]]] = {
    "draw_from_stock": lambda: c.Draw(c.DrawSource.STOCK),
    "draw_from_discard": lambda: c.Draw(c.DrawSource.DISCARD),
    "announce_cift": c.AnnounceCift,
    "withdraw_cift": c.WithdrawCift,
    "show_gosterge": c.ShowGosterge,
}
