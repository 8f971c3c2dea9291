"""What giving up costs."""

import pytest
from okey.money.account import HOUSE_PENALTY
from okey.money.forfeit import forfeit
from okey.money.match import SeatNotOwned
from okey.rules.rule_set import RuleSet

from tests.unit.money.builders import RULES, amounts, canak, klasik


def test_giving_up_costs_half_the_stake_rounded_down_to_the_house() -> None:
    """M9: on top of the stake, which stays in the pot."""
    cost = forfeit(canak(stake=57), 1, 1000, RULES)
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
    cost = forfeit(klasik(stake=57), 0, balance, RULES)
    assert (cost.penalty, cost.shortfall) == (penalty, shortfall)
    assert cost.journal is not None
    assert cost.journal.amount_of(HOUSE_PENALTY) == penalty


def test_an_empty_purse_pays_nothing_and_books_nothing() -> None:
    """M9: the whole penalty is shortfall."""
    cost = forfeit(canak(), 0, 0, RULES)
    assert (cost.penalty, cost.shortfall, cost.journal) == (0, 25, None)


def test_a_house_may_change_the_price() -> None:
    """M9: the percentage is the rule set's."""
    assert forfeit(canak(stake=100), 0, 1000, RuleSet(forfeit_percent=30)).penalty == 30


def test_nobody_gives_up_twice() -> None:
    """M9: the seat is the house's after it."""
    with pytest.raises(SeatNotOwned):
        forfeit(canak(given_up=(0,)), 0, 1000, RULES)
