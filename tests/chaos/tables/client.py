"""Clients that write down everything: players who play by a script, and spectators."""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from okey.api.common.v1 import common_pb2
from okey.api.engine.v1 import engine_pb2, table_pb2
from okey.rules.tile import Tile
from okey_runtime.clock import Clock
from tests.chaos.tables.board import Board
from tests.chaos.tables.history import Asked, ClientHistory, Ended, Opened, Snapshot, Update
from tests.chaos.tables.link import Broken, Command, Link, NoAnswer, Refused, Shown
from tests.chaos.tables.script import Script

_FIRST_PAUSE_S: Final = 0.05
_LAST_PAUSE_S: Final = 1.0
# Before a command is sent again: three tries span half a second at most.
_FIRST_AGAIN_S: Final = 0.2

A = table_pb2.LegalAction


class Spectator:
    """Follows a table over every break until it closes, and writes down what it is shown."""

    def __init__(
        self, link: Link, history: ClientHistory, clock: Clock, chance: random.Random
    ) -> None:
        self.history: Final = history
        self.board: Final = Board()
        self._link = link
        self._clock = clock
        self._chance = chance
        self._changed = asyncio.Event()
        self._cursor: int | None = None

    async def follow(self) -> None:
        """Return when the server has said that the table is closed."""
        wait_s = _FIRST_PAUSE_S
        while True:
            began = len(self.history.heard)
            reason = await self._one_stream()
            self.history.heard.append(Ended(self._clock.now_ms(), reason))
            if reason == "STREAM_END_REASON_TABLE_CLOSED":
                self._changed.set()
                return
            has_heard = len(self.history.heard) > began + 2
            wait_s = _FIRST_PAUSE_S if has_heard else min(2 * wait_s, _LAST_PAUSE_S)
            await asyncio.sleep(wait_s * self._chance.uniform(0.5, 1.0))

    async def _one_stream(self) -> str:
        """Why it ended."""
        # Now and then as one who has forgotten everything.
        cursor = None if self._chance.random() < 0.1 else self._cursor
        self.history.heard.append(Opened(self._clock.now_ms(), cursor))
        try:
            async with aclosing(self._link.follow(cursor)) as stream:
                async for shown, wire in stream:
                    if isinstance(shown, engine_pb2.StreamEnd):
                        return engine_pb2.StreamEndReason.Name(shown.reason)
                    self._hear(shown, wire)
                    if self._chance.random() < 0.005:
                        return "HUNG_UP"
        except Broken as error:
            return str(error)
        return "NO_REASON"

    def _hear(self, shown: Shown, wire: bytes) -> None:
        now_ms = self._clock.now_ms()
        if isinstance(shown, table_pb2.TableView):
            self.history.heard.append(Snapshot(now_ms, shown, wire))
            self.board.look(shown)
        elif isinstance(shown, engine_pb2.TableUpdate):
            self.history.heard.append(Update(now_ms, shown, wire))
            self.board.take(shown)
        self._cursor = self.board.seq
        self._changed.set()


class Player(Spectator):
    """Plays a seat until its table is closed; ``leaving`` tells that it shall go."""

    def __init__(
        self,
        link: Link,
        history: ClientHistory,
        clock: Clock,
        script: Script,
        leaving: asyncio.Event,
        next_id: Callable[[], str],
    ) -> None:
        super().__init__(link, history, clock, script.chance)
        self._script = script
        self._leaving = leaving
        self._next_id = next_id
        self._last_turn = 0
        self.on_moved: Callable[[], None] = lambda: None

    async def play(self) -> None:
        """Return when the table is closed."""
        following = asyncio.create_task(self.follow())
        leaving = asyncio.create_task(self._wake_at_the_end())
        try:
            while not following.done():
                await self._changed.wait()
                self._changed.clear()
                await self._do_what_is_due()
            following.result()
        finally:
            for task in (following, leaving):
                task.cancel()
            await asyncio.gather(following, leaving, return_exceptions=True)

    async def _wake_at_the_end(self) -> None:
        await self._leaving.wait()
        self._changed.set()

    async def _do_what_is_due(self) -> None:
        board, legal = self.board, self.board.legal
        table_id = self.history.table_id
        if self._leaving.is_set():
            await self._go()
        elif A.LEGAL_ACTION_ADD_NONCE in legal and self._script.adds_nonce():
            nonce = self._script.nonce()
            await self._ask("AddNonce", engine_pb2.AddNonceRequest(table_id=table_id, nonce=nonce))
        elif A.LEGAL_ACTION_PLAY_ON in legal:
            await self._pause(self._script.decide_s())
            if A.LEGAL_ACTION_PLAY_ON not in self.board.legal:
                return
            if self._script.plays_on():
                await self._ask("PlayOn", engine_pb2.PlayOnRequest(table_id=table_id))
            else:
                await self._ask("LeaveSeat", engine_pb2.LeaveSeatRequest(table_id=table_id))
        elif A.LEGAL_ACTION_RETURN_TO_SEAT in legal and self._script.comes_back(board.turn.number):
            await self._pause(self._script.return_s())
            if A.LEGAL_ACTION_RETURN_TO_SEAT in self.board.legal:
                request = engine_pb2.ReturnToSeatRequest(table_id=table_id)
                await self._ask("ReturnToSeat", request)
        elif board.is_own_turn:
            await self._play_turn(board.turn.number)
        elif self._last_turn and board.phase == table_pb2.PHASE_WAITING:
            # The others have left after a match; nobody else will come.
            await self._pause(self._script.patience_s())
            if self.board.phase == table_pb2.PHASE_WAITING:
                await self._go()

    async def _go(self) -> None:
        """Leave for nothing, or else at its price."""
        table_id, legal = self.history.table_id, self.board.legal
        if A.LEGAL_ACTION_LEAVE in legal:
            await self._ask("LeaveSeat", engine_pb2.LeaveSeatRequest(table_id=table_id))
        elif A.LEGAL_ACTION_FORFEIT in legal:
            await self._ask("Forfeit", engine_pb2.ForfeitRequest(table_id=table_id))

    async def _play_turn(self, turn: int) -> None:
        if turn in self.history.overslept:
            return
        if turn != self._last_turn:
            self._last_turn = turn
            if self._script.oversleeps():
                self.history.overslept.add(turn)
                return
            if self._script.gives_up():
                request = engine_pb2.ForfeitRequest(table_id=self.history.table_id)
                await self._ask("Forfeit", request)
                return
            await self._pause(self._script.think_s())
        while self._is_at(turn) and not self._leaving.is_set():
            seq = await self._act(turn)
            if not seq:
                return
            await self._until_shown(seq)

    def _is_at(self, turn: int) -> bool:
        return self.board.is_own_turn and self.board.turn.number == turn

    async def _until_shown(self, seq: int) -> None:
        """Wait until the stream has shown the row of the own move."""
        while self.board.seq < seq and not self.board.is_closed and not self._leaving.is_set():
            self._changed.clear()
            await self._changed.wait()
        self._changed.set()

    async def _act(self, turn: int) -> int:
        """The next action of the turn; its row, or 0 where it was refused."""
        action = self._next_action()
        request = engine_pb2.ActRequest(table_id=self.history.table_id, turn=turn, action=action)
        kind = action.WhichOneof("action") or ""
        asked = await self._ask(kind, request, turn)
        if asked.refusal == "FINISH_REJECTED":
            return self.board.seq
        return asked.seqs[-1] if asked.seqs else 0

    def _next_action(self) -> table_pb2.Action:
        board = self.board
        if A.LEGAL_ACTION_SHOW_GOSTERGE in board.legal and board.gosterge in board.rack:
            return table_pb2.Action(show_gosterge=table_pb2.ShowGosterge())
        if A.LEGAL_ACTION_DRAW_STOCK in board.legal:
            takes = A.LEGAL_ACTION_DRAW_DISCARD in board.legal and self._script.takes(
                board.neighbours(board.takeable) if board.takeable is not None else 0
            )
            if takes:
                return table_pb2.Action(draw_from_discard=table_pb2.DrawFromDiscard())
            return table_pb2.Action(draw_from_stock=table_pb2.DrawFromStock())
        lone = board.loneliest_tile()
        if A.LEGAL_ACTION_FINISH in board.legal:
            laid = lone if self._script.bluffs() else board.winning_tile()
            if laid is not None:
                return table_pb2.Action(finish=table_pb2.Finish(tile=_face(laid)))
        return table_pb2.Action(discard=table_pb2.Discard(tile=_face(lone)))

    async def _ask(self, kind: str, command: Command, turn: int = 0) -> Asked:
        """Send the same until there is an answer, and now and then once more after it."""
        command.request_id = self._next_id()
        asked = Asked(kind, command.request_id, self._clock.now_ms(), turn)
        self.history.asked.append(asked)
        wait_s = _FIRST_AGAIN_S
        while True:
            try:
                answer = await self._link.ask(command)
            except NoAnswer as error:
                asked.errors.append(str(error))
                await asyncio.sleep(wait_s * self._chance.uniform(0.5, 1.0))
                wait_s = min(2 * wait_s, _LAST_PAUSE_S)
                continue
            except Refused as error:
                asked.refusal = str(error)
                asked.answered_ms = self._clock.now_ms()
                return asked
            asked.seqs.append(answer.seq)
            asked.drawn = asked.drawn or answer.drawn
            asked.answered_ms = self._clock.now_ms()
            if turn:
                self.on_moved()
            if not self._script.repeats():
                return asked

    async def _pause(self, seconds: float) -> None:
        """Do nothing for a while, unless it is time to go."""
        try:
            async with asyncio.timeout(seconds):
                await self._leaving.wait()
        except TimeoutError:
            return


def _face(tile: Tile) -> common_pb2.Tile.ValueType:
    return common_pb2.Tile.ValueType(tile)
