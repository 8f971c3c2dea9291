"""A journal: the legs of one money event, which sum to zero by construction (M3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from okey.errors import InvalidInput
from okey.money.account import Account, is_player, player_of

MAX_CHIPS: Final = 10**15
"""No single leg moves more: far above any pot, far below what 64 bits hold."""


class JournalKind(StrEnum):
    """What a journal books; the values are the ledger's stored words."""

    HOLD = "hold"
    VOID_HOLD = "void_hold"
    START = "start"
    SETTLE = "settle"
    VOID_MATCH = "void_match"
    FORFEIT = "forfeit"
    CLOSE_TABLE = "close_table"
    GRANT = "grant"
    WELCOME = "welcome"
    REVERSAL = "reversal"
    ERASE = "erase"


class UnbalancedJournal(InvalidInput):
    """Legs that would make or lose chips, or move none."""

    reason = "UNBALANCED_JOURNAL"


class AmountOutOfRange(InvalidInput):
    """An amount of chips that no money event may have."""

    reason = "AMOUNT_OUT_OF_RANGE"


@dataclass(frozen=True, slots=True)
class Leg:
    """One account's part of a journal; ``amount`` in chips, negative where the account gives."""

    account: Account
    amount: int


@dataclass(frozen=True, slots=True)
class Journal:
    """At least two legs on different accounts, none of them zero, together zero.

    Raises ``UnbalancedJournal`` or ``AmountOutOfRange`` for anything else.
    """

    kind: JournalKind
    legs: tuple[Leg, ...]

    def __post_init__(self) -> None:
        amounts = [leg.amount for leg in self.legs]
        accounts = {leg.account for leg in self.legs}
        if len(amounts) < 2 or sum(amounts) != 0 or 0 in amounts or len(accounts) < len(amounts):
            raise UnbalancedJournal(
                f"the {self.kind} journal {list(self.legs)} needs two or more legs on different "
                "accounts, none zero, that sum to zero (M3)"
            )
        for amount in amounts:
            if abs(amount) > MAX_CHIPS:
                raise AmountOutOfRange(f"{amount} chips exceed {MAX_CHIPS}, the most one leg moves")

    @classmethod
    def of(cls, kind: JournalKind, parts: Iterable[tuple[Account, int]]) -> "Journal":
        """A journal of these parts: an account's are added up, what adds up to zero is dropped."""
        sums: dict[Account, int] = {}
        for account, amount in parts:
            sums[account] = sums.get(account, 0) + amount
        return cls(kind, tuple(Leg(account, amount) for account, amount in sums.items() if amount))

    def amount_of(self, account: Account) -> int:
        """What the journal adds to the account, in chips; zero where it does not touch it."""
        return sum(leg.amount for leg in self.legs if leg.account == account)

    def payouts(self) -> dict[str, int]:
        """What each player gets, in chips, by player id."""
        return {
            player_of(leg.account): leg.amount
            for leg in self.legs
            if leg.amount > 0 and is_player(leg.account)
        }

    def reversed(self) -> "Journal":
        """The journal that takes this one back; history is never edited."""
        return Journal(
            JournalKind.REVERSAL, tuple(Leg(leg.account, -leg.amount) for leg in self.legs)
        )
