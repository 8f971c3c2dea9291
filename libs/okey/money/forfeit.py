"""What giving a seat up costs (M9, U9)."""

from dataclasses import dataclass
from enum import Enum

from okey.money.account import HOUSE_PENALTY, player_account
from okey.money.journal import Journal, JournalKind
from okey.money.match import MatchMoney, forfeit_price
from okey.rules.rule_set import RuleSet


class ForfeitCause(Enum):
    """Why a seat became the house's."""

    GAVE_UP = "gave_up"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Forfeiture:
    """What was taken and what was missing, in chips; no journal where nothing was taken."""

    player_id: str
    penalty: int
    shortfall: int
    journal: Journal | None


def forfeit(
    match: MatchMoney,
    seat: int,
    balance: int,
    rules: RuleSet,
    cause: ForfeitCause = ForfeitCause.GAVE_UP,
) -> Forfeiture:
    """M9: min(penalty, balance) goes to the house; the rest is a recorded shortfall, never a debt.

    U9: a seat that was left alone too long costs the same, or nothing where
    ``abandonment_is_forfeit`` is off.
    ``balance``: what can be taken from the player now, in chips. Raises ``SeatNotOwned``.
    """
    player_id = match.person_at(seat)
    is_free = cause is ForfeitCause.ABANDONED and not rules.abandonment_is_forfeit
    price = 0 if is_free else forfeit_price(match.stake, rules)
    penalty = min(price, balance)
    journal = None
    if penalty:
        journal = Journal.of(
            JournalKind.FORFEIT, [(player_account(player_id), -penalty), (HOUSE_PENALTY, penalty)]
        )
    return Forfeiture(player_id, penalty, price - penalty, journal)
