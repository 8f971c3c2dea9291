"""What each way to finish is worth to a seat, against seeing another one finish (Ç3..Ç5, K2)."""

from collections.abc import Mapping
from typing import Final

from okey.money.match import bonus_of
from okey.rules.finish import FinishKind
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant, partner_of
from okey.table.checks import least_contenders
from okey.table.ending import points_of
from okey.table.view import RoundView, TableView

Prizes = Mapping[FinishKind, float]

_ALL_EQUAL: Final = dict.fromkeys(FinishKind, 1.0)


def prizes(view: TableView, played: RoundView) -> Prizes:
    """By finish, what it brings the viewer's side, in units that only compare with one another.

    In Çanak chips: the pot, the kasa and the bonus; of a side that is all the house's the pot alone
    (Ç11). In Klasik points: what the opponents lose, and what one does not lose oneself; more than
    ends the match is worth no more, and what ends it while another stays ahead nothing. In a
    tie-break every finish wins (K6).
    """
    if played.is_tie_break:
        return _ALL_EQUAL
    rules = view.config.rules
    if view.config.variant is Variant.KLASIK:
        return _klasik(view, rules)
    side = {view.viewer}
    if view.config.mode is Mode.ESLI:
        side.add(partner_of(view.viewer))
    if not any(view.seats[seat].player for seat in side):
        return _ALL_EQUAL
    pot = float(max(view.pot, 1))
    return {
        FinishKind.NORMAL: pot,
        FinishKind.OKEY: pot + view.kasa,
        FinishKind.CIFT: pot + view.kasa,
        FinishKind.CIFT_OKEY: pot + view.kasa + bonus_of(view.config.stake, rules),
    }


def _klasik(view: TableView, rules: RuleSet) -> Prizes:
    """Points; nothing for a finish that ends the match for somebody who stays ahead (K4, K5)."""
    by_points = _points(view, rules)
    able = _contenders(view)
    if view.viewer not in able:
        return by_points
    others = [seat for seat in view.seats if seat.seat != view.viewer]
    ahead = max((seat.points for seat in others if seat.seat in able), default=0)
    lasts = min((seat.points for seat in others), default=0)
    own = view.seats[view.viewer].points
    return {
        finish: 0.0 if lasts <= points_of(finish, rules) < ahead - own else prize
        for finish, prize in by_points.items()
    }


def _contenders(view: TableView) -> frozenset[int]:
    """K9: who can win the match."""
    people = frozenset(seat.seat for seat in view.seats if seat.player)
    if len(people) >= least_contenders(view.config.rules):
        return people
    return frozenset(seat.seat for seat in view.seats)


def _points(view: TableView, rules: RuleSet) -> Prizes:
    """Opponents lose them, so that the lead grows by as much; a round lost costs a normal win."""
    lasts = min(
        (seat.points for seat in view.seats if seat.seat != view.viewer),
        default=rules.double_points,
    )
    least = rules.normal_points
    return {
        finish: least + min(points_of(finish, rules), max(lasts, least)) for finish in FinishKind
    }
