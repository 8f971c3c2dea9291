"""A player over gRPC: plays over one stream with its own token, from what it is shown."""

from dataclasses import dataclass
from typing import Final

from okey.api.engine.v1 import table_pb2
from okey.rules.variant import BotLevel
from okey.table.commands import Action
from okey_client import OkeyClient, PlayedTable, RpcFailure, action_due

# The table went on while the move was under way; a newer view is coming.
_TOO_LATE: Final = frozenset(
    (
        "TURN_OVER",
        "TURN_EXPIRED",
        "NOT_YOUR_TURN",
        "STAND_IN_PLAYS",
        "ALREADY_DRAWN",
        "MUST_DRAW_FIRST",
        "CIFT_NOT_OPEN",
        "GOSTERGE_NOT_OPEN",
        "NOT_SEATED",
        "NO_MATCH_RUNNING",
        "MATCH_RUNNING",
        "TABLE_CLOSED",
        "NOT_AWAY",
        "NOT_DECIDING",
    )
)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a player behaves beside playing well.

    It stays for the Nachspiel until the table has started ``matches`` matches. In its own turn
    number ``gives_up_in`` of a round it gives up; from turn ``sleeps_from`` on it does nothing
    until a stand-in has made a move for it, then it comes back. 0 is never.
    """

    matches: int = 1
    gives_up_in: int = 0
    sleeps_from: int = 0


class Player:
    """One person at one table; ``name`` is shown to the others."""

    def __init__(
        self, client: OkeyClient, player_id: str, name: str, habits: Habits | None = None
    ) -> None:
        self.client: Final = client
        self.player_id: Final = player_id
        self.name: Final = name
        self.moves = 0
        self._habits = habits or Habits()
        self._has_slept = False
        self._stand_in_turn = 0

    async def play(self, table_id: str) -> None:
        """Play until the player has left the table, given up, or the table has closed."""
        was_seated = False
        async with self.client.table(table_id).play() as table:
            async for change in table:
                view = change.view
                if view.viewer < 0:
                    if was_seated:
                        return
                    continue
                was_seated = True
                try:
                    await self._respond(table, view)
                except RpcFailure as failure:
                    if failure.reason not in _TOO_LATE:
                        raise

    async def _respond(self, table: PlayedTable, view: table_pb2.TableView) -> None:
        legal = frozenset(view.legal_actions)
        if table_pb2.LEGAL_ACTION_PLAY_ON in legal:
            if view.match_no < self._habits.matches:
                await table.play_on()
            else:
                await table.leave()
        elif table_pb2.LEGAL_ACTION_RETURN_TO_SEAT in legal:
            await self._maybe_return(table, view)
        else:
            action = action_due(view, BotLevel.STRONG, seed=view.seq)
            if action is not None:
                await self._move(table, view.round, action)

    async def _maybe_return(self, table: PlayedTable, view: table_pb2.TableView) -> None:
        """Come back once a turn that began under the stand-in is over."""
        turn = view.round.turn
        if self._stand_in_turn == 0 and turn.seat == view.viewer:
            self._stand_in_turn = turn.number
        elif self._stand_in_turn and turn.number > self._stand_in_turn:
            self._has_slept = True
            await table.return_to_seat()

    async def _move(self, table: PlayedTable, seen: table_pb2.RoundView, action: Action) -> None:
        habits, own_turns = self._habits, seen.own_turns
        if habits.sleeps_from and own_turns >= habits.sleeps_from and not self._has_slept:
            return
        if habits.gives_up_in and own_turns >= habits.gives_up_in:
            await table.forfeit()
            return
        await table.act(seen.turn.number, action)
        self.moves += 1
