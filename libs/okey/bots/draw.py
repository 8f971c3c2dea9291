"""Where a bot draws from (U1)."""

from okey.bots.outlook import Outlook
from okey.rules.variant import BotLevel
from okey.table.commands import Draw, DrawSource
from okey.table.legal import LegalAction


def choose_draw(outlook: Outlook, level: BotLevel, legal: frozenset[LegalAction]) -> Draw:
    """The neighbour's discard where it is an okey or brings the finish nearer, else the stock.

    An EASY bot takes another's tile only if it is an okey or finishes the hand.
    """
    if LegalAction.DRAW_DISCARD not in legal:
        return Draw(DrawSource.STOCK)
    if LegalAction.DRAW_STOCK not in legal or _is_worth_taking(outlook, level):
        return Draw(DrawSource.DISCARD)
    return Draw(DrawSource.STOCK)


def _is_worth_taking(outlook: Outlook, level: BotLevel) -> bool:
    tile = outlook.takeable
    if tile is None:
        return False
    if tile is outlook.okey:
        return True
    after = outlook.to_finish((*outlook.rack, tile))
    if level is BotLevel.EASY:
        return after == 0
    return after < outlook.to_finish(outlook.rack)
