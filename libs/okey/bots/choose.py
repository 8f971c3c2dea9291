"""One action for the seat to move: the whole interface of a bot."""

from collections.abc import Iterator

from okey.bots.declare import choose_declaration
from okey.bots.discard import choose_discard
from okey.bots.draw import choose_draw
from okey.bots.outlook import NotToMove, Outlook
from okey.bots.strong import strong_answers
from okey.rules.variant import BotLevel
from okey.table.commands import Action, Discard
from okey.table.legal import LegalAction
from okey.table.view import TableView

_MOVES = frozenset({LegalAction.DRAW_STOCK, LegalAction.DRAW_DISCARD, LegalAction.DISCARD})


def choose(view: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Action:
    """The last and best of ``answers``."""
    *_, best = answers(view, level, is_stand_in, seed)
    return best


def answers(view: TableView, level: BotLevel, is_stand_in: bool, seed: int) -> Iterator[Action]:
    """Answers for who may run out of time, each as good as the one before or better: the next
    action of ``view.viewer``, one of ``view.legal_actions``; a turn usually takes two
    (U1).

    The same view, level and seed give the same action. A stand-in only draws and discards, and
    never leaves the hand further from a finish than it found it (U8); it plays like NORMAL whatever
    ``level`` says (W4).

    Raises:
        NotToMove: it is not that seat's turn, or the view names no move as legal.
    """
    outlook = Outlook.of(view)
    legal = frozenset(view.legal_actions)
    if not legal & _MOVES:
        names = ", ".join(action.name for action in view.legal_actions) or "nothing"
        raise NotToMove(f"seat {view.viewer} may neither draw nor discard, only {names} (U1)")
    if level is BotLevel.STRONG and not is_stand_in:
        yield from strong_answers(view, outlook, seed)
    else:
        yield _by_distance(outlook, level, legal, is_stand_in=is_stand_in, seed=seed)


def _by_distance(
    outlook: Outlook,
    level: BotLevel,
    legal: frozenset[LegalAction],
    *,
    is_stand_in: bool,
    seed: int,
) -> Action:
    if is_stand_in:
        level = BotLevel.NORMAL
    else:
        declaration = choose_declaration(outlook, level, legal)
        if declaration is not None:
            return declaration
    if LegalAction.DISCARD in legal:
        return Discard(choose_discard(outlook, level, seed))
    return choose_draw(outlook, level, legal)
