"""What a bot says beside drawing and discarding: gösterge, çift, finish (K3, H7..H13)."""

from typing import Final

from okey.bots.outlook import Outlook
from okey.rules.finish import FinishKind, FinishRejected, judge_finish
from okey.rules.variant import BotLevel
from okey.table.commands import AnnounceCift, Finish, ShowGosterge, WithdrawCift
from okey.table.legal import LegalAction

Declaration = AnnounceCift | Finish | ShowGosterge | WithdrawCift

_WORTH: Final = {
    FinishKind.NORMAL: 1,
    FinishKind.OKEY: 2,
    FinishKind.CIFT: 2,
    FinishKind.CIFT_OKEY: 3,
}
"""The order of the payouts (Ç3..Ç5, K2)."""

_CLEARLY_CLOSER: Final = 2
_PAIRS_MAY_MISS: Final = 2


def choose_declaration(
    outlook: Outlook, level: BotLevel, legal: frozenset[LegalAction]
) -> Declaration | None:
    """What to declare now, or None.

    The gösterge is shown (K3). A finish is taken at once, in the way that pays most, çift announced
    or taken back first where that makes it pay more, or possible. Çift is announced when it is near
    and clearly nearer than a normal hand, and taken back when it no longer is the nearer one; an
    EASY bot does not announce.
    """
    if LegalAction.SHOW_GOSTERGE in legal and outlook.gosterge in outlook.rack:
        return ShowGosterge()
    if (
        LegalAction.FINISH in legal
        and (finish := _choose_finish(outlook, level, legal)) is not None
    ):
        return finish
    normal, cift = outlook.to_normal(outlook.rack), outlook.to_cift(outlook.rack)
    if LegalAction.WITHDRAW_CIFT in legal and outlook.has_announced and normal < cift:
        return WithdrawCift()
    if _may_announce(outlook, level, legal):
        is_near = cift <= _PAIRS_MAY_MISS and cift + _CLEARLY_CLOSER <= normal
        return AnnounceCift() if is_near else None
    return None


def _choose_finish(
    outlook: Outlook, level: BotLevel, legal: frozenset[LegalAction]
) -> Finish | AnnounceCift | None:
    now = _best_finish(outlook, announced=outlook.has_announced)
    if _may_announce(outlook, level, legal):
        announced = _best_finish(outlook, announced=True)
        if announced is not None and (now is None or announced[0] > now[0]):
            return AnnounceCift()
    return None if now is None else now[1]


def _may_announce(outlook: Outlook, level: BotLevel, legal: frozenset[LegalAction]) -> bool:
    return (
        LegalAction.ANNOUNCE_CIFT in legal
        and not outlook.has_announced
        and level is not BotLevel.EASY
    )


def _best_finish(outlook: Outlook, *, announced: bool) -> tuple[int, Finish] | None:
    """The finish that pays most, with its rank among the payouts."""
    if (outlook.to_cift if announced else outlook.to_finish)(outlook.rack) > 0:
        return None
    best: tuple[int, Finish] | None = None
    for laid in sorted(set(outlook.rack)):
        try:
            kind = judge_finish(outlook.rack, laid, outlook.okey, announced=announced)
        except FinishRejected:
            continue
        if best is None or _WORTH[kind] > best[0]:
            best = (_WORTH[kind], Finish(laid))
    return best
