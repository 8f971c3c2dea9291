"""What giving up costs (M9)."""

from dataclasses import dataclass

from okey.money.account import HOUSE_PENALTY, player_account
from okey.money.journal import Journal, JournalKind
from okey.money.match import MatchMoney, forfeit_price
from okey.rules.rule_set import RuleSet


@dataclass(frozen=True, slots=True)
class Forfeiture:
    """What was taken and what was missing, in chips; no journal where nothing was taken."""

    player_id: str
    penalty: int
    shortfall: int
    journal: Journal | None


def forfeit(match: MatchMoney, seat: int, balance: int, rules: RuleSet) -> Forfeiture:
    """M9: min(penalty, balance) goes to the house; the rest is a recorded shortfall, never a debt.

    ``balance``: what can be taken from the player now, in chips. Raises ``SeatNotOwned``.
    """
    player_id = match.person_at(seat)
    price = forfeit_price(match.stake, rules)
    penalty = min(price, balance)
    journal = None
    if penalty:
        journal = Journal.of(
            JournalKind.FORFEIT, [(player_account(player_id), -penalty), (HOUSE_PENALTY, penalty)]
        )
    return Forfeiture(player_id, penalty, price - penalty, journal)
