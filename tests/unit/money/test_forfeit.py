"""What giving up costs."""

import pytest

from okey.money.account import HOUSE_PENALTY
from okey.money.forfeit import ForfeitCause, forfeit
from okey.money.match import SeatNotOwned
from okey.rules.rule_set import RuleSet
from tests.unit.money.builders import RULES, amounts, canak, klasik

GAVE_UP, ABANDONED = ForfeitCause.GAVE_UP, ForfeitCause.ABANDONED


def test_giving_up_costs_half_the_stake_rounded_down_to_the_house() -> None:
    """M9: on top of the stake, which stays in the pot."""
    cost = forfeit(canak(stake=57), 1, 1000, RULES, GAVE_UP)
    assert (cost.player_id, cost.penalty, cost.shortfall) == ("B", 28, 0)
    assert cost.journal is not None
    assert amounts(cost.journal) == {
        "player:B": -28,
        HOUSE_PENALTY: 28,
    }


@pytest.mark.parametrize(
    ("balance", "penalty", "shortfall"), [(28, 28, 0), (27, 27, 1), (1, 1, 27)]
)
def test_nobody_pays_more_than_they_have(balance: int, penalty: int, shortfall: int) -> None:
    """M9, M3: min(penalty, balance), the shortfall recorded."""
    cost = forfeit(klasik(stake=57), 0, balance, RULES, GAVE_UP)
    assert (cost.penalty, cost.shortfall) == (penalty, shortfall)
    assert cost.journal is not None
    assert cost.journal.amount_of(HOUSE_PENALTY) == penalty


def test_an_empty_purse_pays_nothing_and_books_nothing() -> None:
    """M9: the whole penalty is shortfall."""
    cost = forfeit(canak(), 0, 0, RULES, GAVE_UP)
    assert (cost.penalty, cost.shortfall, cost.journal) == (0, 25, None)


def test_a_house_may_change_the_price() -> None:
    """M9: the percentage is the rule set's."""
    assert forfeit(canak(stake=100), 0, 1000, RuleSet(forfeit_percent=30), GAVE_UP).penalty == 30


def test_nobody_gives_up_twice() -> None:
    """M9: the seat is the house's after it."""
    with pytest.raises(SeatNotOwned):
        forfeit(canak(given_up=(0,)), 0, 1000, RULES)


def test_a_seat_left_alone_too_long_costs_the_same() -> None:
    """U9, M9: exactly as giving up."""
    match = canak(stake=57)
    assert forfeit(match, 0, 1000, RULES, ABANDONED) == forfeit(match, 0, 1000, RULES, GAVE_UP)


def test_a_house_may_let_abandoned_seats_go_free() -> None:
    """U9: the switch spares the silent, never those who give up."""
    lenient = RuleSet(abandonment_is_forfeit=False)
    cost = forfeit(canak(), 0, 1000, lenient, ABANDONED)
    assert (cost.player_id, cost.penalty, cost.shortfall, cost.journal) == ("A", 0, 0, None)
    assert forfeit(canak(), 0, 1000, lenient, GAVE_UP).penalty == 25
