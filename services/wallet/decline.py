"""Why the wallet declines: each a named error, final for the key of its request."""

from collections.abc import Mapping
from typing import Final

from okey.errors import AlreadyExists, NotFound, Refused
from okey_runtime.idempotency import ReusedKey


class Declined(Refused):
    """Nothing was booked and nothing will be under this key; a new try needs a new key."""

    reason = "DECLINED"

    def __init__(self, message: str, hold_ids: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.hold_ids = hold_ids

    @property
    def metadata(self) -> Mapping[str, str]:
        """The holds that are at fault, where there are any."""
        return {"hold_ids": ",".join(self.hold_ids)} if self.hold_ids else {}


class InsufficientFunds(Declined):
    """The player has fewer chips than are asked for (M1, M3)."""

    reason = "INSUFFICIENT_FUNDS"


class AccountFrozen(Declined):
    """Nothing can be taken from the account until an operator lifts that."""

    reason = "ACCOUNT_FROZEN"


class AccountClosed(Declined):
    """The player's id was closed for good; nothing is booked on its account any more."""

    reason = "ACCOUNT_CLOSED"


class HoldVoided(Declined):
    """The hold was given back, maybe before it came."""

    reason = "HOLD_VOIDED"


class HoldExists(Declined):
    """The hold id is in use, under another key."""

    reason = "HOLD_EXISTS"


class HoldCommitted(Declined):
    """The hold became part of a pot."""

    reason = "HOLD_COMMITTED"


class HoldsMissing(Declined):
    """Not every seat's stake is held for this match (M2)."""

    reason = "HOLDS_MISSING"


class MatchNotStarted(Declined):
    """The match has not started, or was never seen."""

    reason = "MATCH_NOT_STARTED"


class MatchStarted(Declined):
    """The match has started, under another key."""

    reason = "MATCH_STARTED"


class MatchSettled(Declined):
    """The match's pot is paid out."""

    reason = "MATCH_SETTLED"


class MatchVoided(Declined):
    """The match's stakes went back (M10)."""

    reason = "MATCH_VOIDED"


class MatchElsewhere(Declined):
    """The match is another table's: its stakes are in that table's escrow."""

    reason = "MATCH_ELSEWHERE"


class SeatNotOwned(Declined):
    """The seat is the house's, so nobody can give it up (M9)."""

    reason = "SEAT_NOT_OWNED"


class TableClosed(Declined):
    """The table is closed."""

    reason = "TABLE_CLOSED"


class TableNotIdle(Declined):
    """The table has a held stake or a running match."""

    reason = "TABLE_NOT_IDLE"


class RulesUnknown(Declined):
    """This wallet does not know the rule set's version."""

    reason = "RULES_UNKNOWN"


class JournalUnknown(Declined):
    """There is no such journal."""

    reason = "JOURNAL_UNKNOWN"


class JournalNotReversible(Declined):
    """The journal is neither a grant nor a penalty."""

    reason = "JOURNAL_NOT_REVERSIBLE"


class JournalReversed(Declined):
    """The journal was taken back already."""

    reason = "JOURNAL_REVERSED"


DECLINES: Final[Mapping[str, type[Declined]]] = {
    each.reason: each for each in Declined.__subclasses__()
}
"""Every decline by its reason."""


class TransferIdReused(ReusedKey, AlreadyExists):
    """An idempotency key came again with other content; the first request stands."""

    reason = "TRANSFER_ID_REUSED"
    key_name = "idempotency_key"


class AccountNotFound(NotFound):
    """The account was never used."""

    reason = "ACCOUNT_NOT_FOUND"
