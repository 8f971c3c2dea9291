"""People at the table without a browser: they fill the seats that a test does not look at."""

import asyncio
from dataclasses import replace
from typing import Final

from okey.bots.choose import choose
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Finish
from okey.table.legal import LegalAction
from okey.table.view import TableView
from okey_client import OkeyClient, PlayedTable, RpcFailure, pure_view

MOVES: Final = frozenset({LegalAction.DRAW_STOCK, LegalAction.DRAW_DISCARD, LegalAction.DISCARD})
_PLAIN: Final = MOVES | {LegalAction.FINISH}
# The turn was over before the move came; a newer view tells what is due.
_TOO_LATE: Final = frozenset({"TURN_OVER", "NOT_YOUR_TURN"})


class Manners:
    """How companions play beside well: they finish when they can, and wait for nobody."""

    def may_finish(self, view: TableView) -> bool:
        """Asked in each own turn; who may not goes on drawing and discarding."""
        return True

    async def wait(self, view: TableView) -> None:
        """Before each move; they are far quicker than a browser."""


class Companion:
    """Plays as a bot would, each win a plain one: no çift, no shown gösterge, no laid okey."""

    def __init__(self, client: OkeyClient, manners: Manners) -> None:
        self.client: Final = client
        self._manners = manners

    async def play(self, table_id: str) -> None:
        """Play until the table closes."""
        async with self.client.table(table_id).play() as table:
            async for change in table:
                await self._respond(table, pure_view(change.view))

    async def _respond(self, table: PlayedTable, view: TableView) -> None:
        if view.round is None or view.round.turn is None or view.round.turn.seat != view.viewer:
            return
        wanted = _PLAIN if self._manners.may_finish(view) else MOVES
        legal = tuple(action for action in view.legal_actions if action in wanted)
        if MOVES.isdisjoint(legal):
            return
        action = choose(replace(view, legal_actions=legal), BotLevel.NORMAL, False, seed=0)
        await self._manners.wait(view)
        try:
            await table.act(view.round.turn.number, _plain(view, action))
        except RpcFailure as failure:
            if failure.reason not in _TOO_LATE:
                raise


def _plain(view: TableView, action: Action) -> Action:
    """The same finish with another tile than an okey: an okey stands for that one then (T5)."""
    assert view.round is not None, "it is a turn's action"
    if not isinstance(action, Finish) or action.tile != view.round.okey:
        return action
    return Finish(next(tile for tile in view.round.rack if tile != view.round.okey))


async def keep_company(table_id: str, *companions: Companion) -> None:
    """All sit down, then play until the table closes."""
    for companion in companions:
        await companion.client.lobby.join_table(table_id)
    await asyncio.gather(*(companion.play(table_id) for companion in companions))
