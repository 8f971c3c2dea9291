"""The books within one transaction: lock accounts in order, check, post a journal (M3, M5)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, bindparam, select

from okey.money.account import Account, is_balance_kept, is_player, player_of
from okey.money.journal import Journal, JournalKind, Leg
from okey.money.stake import grant
from okey.rules.rule_set import RuleSet
from okey_runtime import failpoints
from services.wallet.decline import AccountClosed, AccountFrozen, InsufficientFunds, RulesUnknown
from services.wallet.insert import Row, insert_new_rows, insert_rows
from services.wallet.schema import accounts, journals
from services.wallet.step import NotTogether, Step, Turn, padded

# Made once: to build a statement takes longer than to run it.
_LOCKED_IN_ORDER: Final = (
    select(accounts)
    .where(accounts.c.account.in_(bindparam("names", expanding=True)))
    .order_by(accounts.c.account)
    .with_for_update()
)


_UNUSED: Final[Row] = {"balance": 0, "version": 0, "frozen": False, "is_closed": False}


APPROVAL_LIMIT_CHIPS: Final = 1_000_000
APPROVAL_EXPIRES_MS: Final = 86_400_000


class NotLocked(AssertionError):
    """A journal touches an account that its operation has not locked: a bug in this service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What the house has set: rule sets by version, the one in force, the welcome grant, and what
    one operator may move alone (None for any number of chips).
    """

    rule_sets: Mapping[str, RuleSet]
    current_version: str
    welcome_chips: int
    approval_limit_chips: int | None = APPROVAL_LIMIT_CHIPS
    approval_expires_ms: int = APPROVAL_EXPIRES_MS

    def rules(self, version: str) -> RuleSet:
        """The rule set of this version. Raises ``RulesUnknown``."""
        if version not in self.rule_sets:
            known = ", ".join(sorted(self.rule_sets))
            raise RulesUnknown(f"rule set {version!r} is unknown here: this wallet has {known}")
        return self.rule_sets[version]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a journal is about, besides its legs."""

    rules_version: str
    table_id: str | None = None
    match_id: str | None = None
    actor: str | None = None
    reason: str | None = None
    reverses: int | None = None


@dataclass(frozen=True, slots=True)
class Posted:
    """A journal as it stands in the books, legs by account name."""

    journal_id: int
    legs: tuple[Leg, ...]


@dataclass(frozen=True, slots=True)
class _Account:
    balance: int
    version: int
    frozen: bool
    is_closed: bool


class Books:
    """One transaction's hold on the books; made anew for each, shared by its commands."""

    def __init__(self, connection: Connection, house: House, now_ms: int) -> None:
        self.connection = connection
        self.house = house
        self.now_ms = now_ms
        self._locked: dict[Account, _Account] = {}
        self._accounts = Step(Turn.ACCOUNTS, self._lock_accounts)
        self._journals = Step(Turn.JOURNALS, self._insert_journals)

    async def lock(self, names: Iterable[Account]) -> None:
        """Hold these accounts until the transaction ends; opens those that were never used.

        All an operation touches in one call, so that everybody locks in the same order. A player's
        account is opened with its welcome grant.
        """
        await self._accounts.ask({name for name in names if is_balance_kept(name)})

    def _lock_accounts(
        self, _: Connection, asked: Sequence[set[Account]]
    ) -> Sequence[NotTogether | None]:
        wanted = set().union(*asked)
        self._lock_opened(wanted)
        missing = wanted - self._locked.keys()
        # An account that is opened is locked after others that may sort later. That closes no
        # circle: an operation opens one player's at most, and the others are a table's, whose row
        # it has locked before. Several operations could open several players', so they do not.
        apart = {name for name in missing if is_player(name)} if len(asked) > 1 else set()
        self._open(missing - apart)
        return [
            NotTogether(f"{names & apart} are yet to be opened") if names & apart else None
            for names in asked
        ]

    def _lock_opened(self, names: set[Account]) -> None:
        for row in self.connection.execute(_LOCKED_IN_ORDER, {"names": padded(sorted(names))}):
            self._locked[Account(row.account)] = _Account(
                row.balance, row.version, row.frozen, row.is_closed
            )

    def _open(self, names: set[Account]) -> None:
        if not names:
            return
        ordered = sorted(names)
        opened = insert_new_rows(
            self.connection,
            accounts,
            [{**_UNUSED, "account": name} for name in ordered],
        )
        self._lock_opened(names)
        for name, is_new in zip(ordered, opened, strict=True):
            if is_new:
                self._welcome(name)

    def balance(self, account: Account) -> int:
        """The balance of an account that this transaction has locked, in chips."""
        return self._known(account).balance

    def is_closed(self, account: Account) -> bool:
        """Whether nothing is booked any more on an account that this transaction has locked."""
        return self._known(account).is_closed

    def refuse_if_closed(self, account: Account) -> None:
        """Return for an account that is open. Raises ``AccountClosed``."""
        if self.is_closed(account):
            raise AccountClosed(f"{account} is closed for good: nothing is booked on it")

    def available(self, account: Account) -> int:
        """What can be taken from the account now, in chips; nothing while it is frozen."""
        known = self._known(account)
        return 0 if known.frozen else known.balance

    async def post(self, journal: Journal, note: Note) -> Posted:
        """Book a journal. Raises ``InsufficientFunds``, ``AccountFrozen``."""
        self._move(journal)
        return Posted(await self._journals.ask((journal, note)), _in_order(journal))

    def _welcome(self, account: Account) -> None:
        if is_player(account) and self.house.welcome_chips:
            welcome = grant(player_of(account), self.house.welcome_chips, JournalKind.WELCOME)
            self._move(welcome)
            note = Note(rules_version=self.house.current_version)
            self._insert_journals(self.connection, [(welcome, note)])

    def _move(self, journal: Journal) -> None:
        """Make the balances what they will be; before others of the transaction ask for them."""
        self._locked |= {
            leg.account: self._moved(leg) for leg in journal.legs if is_balance_kept(leg.account)
        }

    def _known(self, account: Account) -> _Account:
        try:
            return self._locked[account]
        except KeyError:
            raise NotLocked(f"{account} is not locked: lock all accounts first") from None

    def _moved(self, leg: Leg) -> _Account:
        known = self._known(leg.account)
        self.refuse_if_closed(leg.account)
        if leg.amount < 0 and known.frozen:
            raise AccountFrozen(f"{leg.account} is frozen: nothing can be taken from it")
        balance = known.balance + leg.amount
        if balance < 0:
            raise InsufficientFunds(
                f"{leg.account} has {known.balance} chips, {-leg.amount} are asked for (M3)"
            )
        return replace(known, balance=balance, version=known.version + 1)

    def _insert_journals(
        self, connection: Connection, asked: Sequence[tuple[Journal, Note]]
    ) -> Sequence[int]:
        # The database makes postings and balances of the legs, and refuses what does not add up.
        rows = [self._row(journal, note) for journal, note in asked]
        journal_ids = insert_rows(connection, journals, rows)
        for journal, _ in asked:
            failpoints.hit("wallet.journal_inserted", journal)
        return journal_ids

    def _row(self, journal: Journal, note: Note) -> Row:
        legs = {leg.account: leg.amount for leg in _in_order(journal)}
        return {
            "kind": journal.kind.value,
            "rules_version": note.rules_version,
            "booked_ms": self.now_ms,
            "table_id": note.table_id,
            "match_id": note.match_id,
            "actor": note.actor,
            "reason": note.reason,
            "reverses": note.reverses,
            "legs": json.dumps(legs, separators=(",", ":")),
        }


def _in_order(journal: Journal) -> tuple[Leg, ...]:
    return tuple(sorted(journal.legs, key=lambda leg: leg.account))
