"""What an audit can find, and how it tells how far it is."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FindingKind(StrEnum):
    """What can be wrong; the values are the names in the proto, in lower case."""

    UNBALANCED_JOURNAL = "unbalanced_journal"
    BALANCE_DIFFERS = "balance_differs"
    VERSION_GAP = "version_gap"
    NEGATIVE_BALANCE = "negative_balance"
    ESCROW_DIFFERS = "escrow_differs"
    POT_DIFFERS = "pot_differs"
    KASA_LEFT = "kasa_left"
    LEDGER_UNBALANCED = "ledger_unbalanced"
    RUNNING_BALANCE = "running_balance"
    JOURNAL_ALTERED = "journal_altered"
    JOURNAL_REMOVED = "journal_removed"
    JOURNAL_ADDED = "journal_added"
    BLOCK_ALTERED = "block_altered"
    BLOCK_MISSING = "block_missing"
    SIGNATURE_INVALID = "signature_invalid"
    ANCHOR_MISSING = "anchor_missing"
    ANCHOR_DIFFERS = "anchor_differs"
    ANCHOR_FORGED = "anchor_forged"
    EVENT_NOT_BOOKED = "event_not_booked"
    EVENT_DIFFERS = "event_differs"
    JOURNAL_WITHOUT_EVENT = "journal_without_event"
    EVENTS_UNREADABLE = "events_unreadable"
    JOURNAL_NOT_APPROVED = "journal_not_approved"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: whose, what it should be, what it is; its table where known."""

    kind: FindingKind
    subject: str
    expected: int
    actual: int
    table_id: str = ""

    @property
    def table(self) -> str:
        """The table whose money is in doubt; empty where no single one is."""
        if self.table_id:
            return self.table_id
        account, _, owner = self.subject.partition(":")
        return owner[:_TABLE_ID_LENGTH] if account in ("escrow", "pot", "kasa") else ""


_TABLE_ID_LENGTH: Final = 26

Tell = Callable[[str, int, int], None]
"""Says how far an audit is: the step, what is done of it, and what there is to do in it."""


def tell_nobody(step: str, done: int, total: int) -> None:
    """For audits that nobody watches."""
