"""Playing a seat by machine over the network: for demonstrations, tests and load."""

from collections.abc import Callable
from typing import Final

from okey.api.engine.v1 import table_pb2
from okey.bots.choose import choose
from okey.rules.variant import BotLevel
from okey.table.commands import Action
from okey.table.legal import LegalAction
from okey_client.mirror import Change, TableMirror
from okey_client.pure import pure_view
from okey_client.table import TableClient
from okey_runtime.errors import RpcFailure

_MOVES: Final = frozenset({LegalAction.DRAW_STOCK, LegalAction.DRAW_DISCARD, LegalAction.DISCARD})

_TOO_LATE: Final = frozenset(
    {"TURN_OVER", "TURN_EXPIRED", "NOT_YOUR_TURN", "STAND_IN_PLAYS", "NOT_SEATED", "TABLE_CLOSED"}
    | {"ALREADY_DRAWN", "MUST_DRAW_FIRST", "CIFT_NOT_OPEN", "GOSTERGE_NOT_OPEN"}
)
"""The clock, or whoever else acted, was faster; or the view was one that a resumed stream sent
after a newer one had been looked up. The next view tells what is due then.
"""


def action_due(view: table_pb2.TableView, level: BotLevel, seed: int) -> Action | None:
    """What a bot would do now on the viewer's seat; None while it is not that seat's move."""
    if not view.HasField("round") or view.round.turn.seat != view.viewer:
        return None
    if _MOVES.isdisjoint(view.legal_actions):
        return None
    return choose(pure_view(view), level, False, seed)


async def autoplay(
    table: TableClient,
    until: Callable[[table_pb2.TableView], bool],
    *,
    level: BotLevel = BotLevel.NORMAL,
    seed: int = 0,
    on_change: Callable[[Change], None] | None = None,
) -> TableMirror:
    """Play the caller's seat until a view is as wanted, or the table closes; the mirror as it is
    then.

    ``on_change`` sees everything that happens. A seat that a stand-in minds is left to it.
    """
    mirror = table.follow()
    acted_on = 0
    async for change in mirror:
        if on_change is not None:
            on_change(change)
        if until(change.view):
            break
        if table_pb2.LEGAL_ACTION_RETURN_TO_SEAT in change.view.legal_actions:
            continue
        action = action_due(change.view, level, seed)
        if action is None or change.view.seq <= acted_on:
            continue  # one view stands for several rows where some were missed
        acted_on = change.view.seq
        try:
            await table.act(change.view.round.turn.number, action)
        except RpcFailure as failure:
            if failure.reason not in _TOO_LATE:
                raise
    return mirror
