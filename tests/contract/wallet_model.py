"""The wallet as a dictionary: what each command comes to, one after another, by ``okey.money``."""

from collections import Counter
from dataclasses import dataclass, field
from typing import assert_never

from okey.errors import InvalidInput
from okey.money.account import Account, kasa_account, player_account
from okey.money.forfeit import forfeit
from okey.money.journal import MAX_CHIPS, AmountOutOfRange, Journal, JournalKind
from okey.money.match import MatchMoney
from okey.money.settle import settle
from okey.money.stake import (
    close_table,
    grant,
    hold,
    start_match,
    void_hold,
    void_match,
    void_open_match,
)
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import Variant
from services.wallet.command import (
    CloseTable,
    Command,
    ForfeitSeat,
    GrantChips,
    HoldStake,
    ReverseJournal,
    SettleMatch,
    StartMatch,
    VoidHold,
    VoidMatch,
)

Legs = frozenset[tuple[Account, int]]


@dataclass(frozen=True)
class Answer:
    """A reason for refusing, or OK with what was booked; chips."""

    reason: str = "OK"
    legs: Legs = frozenset()
    penalty: int = 0
    shortfall: int = 0


class _Declined(Exception):
    """A decline, by its reason."""


@dataclass
class _Match:
    table_id: str
    state: str = "OPEN"
    money: MatchMoney | None = None


@dataclass
class WalletModel:
    """Everything the wallet knows, without a database; the welcome grant is ``welcome`` chips."""

    welcome: int
    rules: RuleSet = DEFAULT_RULE_SET
    balances: Counter[Account] = field(default_factory=Counter)
    _answers: dict[str, tuple[Command, Answer]] = field(default_factory=dict)
    _holds: dict[str, tuple[str, HoldStake | None]] = field(default_factory=dict)
    _matches: dict[str, _Match] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)
    _opened: set[str] = field(default_factory=set)

    def execute(self, key: str, command: Command) -> Answer:
        """What the wallet must answer."""
        if key in self._answers:
            first, answer = self._answers[key]
            return answer if first == command else Answer("TRANSFER_ID_REUSED")
        try:
            answer = self._carry_out(command)
        except InvalidInput as invalid:
            return Answer(invalid.reason)
        except _Declined as declined:
            answer = Answer(str(declined))
        self._answers[key] = command, answer
        return answer

    def _carry_out(self, command: Command) -> Answer:
        match command:
            case HoldStake():
                return self._hold(command)
            case VoidHold():
                return self._void_hold(command.hold_id)
            case StartMatch():
                return self._start(command)
            case SettleMatch():
                match = self._running(command.match_id)
                answer = self._book(settle(self._money(match), command.outcome, self.rules))
                match.state = "SETTLED"
                return answer
            case VoidMatch():
                return self._void(command.match_id)
            case ForfeitSeat():
                return self._forfeit(command)
            case CloseTable():
                return self._close(command.table_id)
            case GrantChips():
                journal = grant(command.player_id, command.amount)
                if self._purse(command.player_id) + command.amount > MAX_CHIPS:
                    raise AmountOutOfRange(f"{command.amount} more would be too many")
                self._open(command.player_id)
                return self._book(journal)
            case ReverseJournal():
                raise AssertionError("the model knows no journal numbers: ask it for no reversal")
            case _:
                assert_never(command)

    def _book(self, journal: Journal | None) -> Answer:
        legs = () if journal is None else journal.legs
        for leg in legs:
            self.balances[leg.account] += leg.amount
        return Answer(legs=frozenset((leg.account, leg.amount) for leg in legs))

    def _open(self, player: str) -> None:
        if player not in self._opened:
            self._opened.add(player)
            self._book(grant(player, self.welcome, JournalKind.WELCOME))

    def _purse(self, player: str) -> int:
        if player not in self._opened:
            return self.welcome
        return self.balances[player_account(player)]

    def _hold(self, asked: HoldStake) -> Answer:
        journal = hold(asked.table_id, asked.player_id, asked.stake, self.rules)
        self._refuse_closed(asked.table_id)
        match = self._matches.get(asked.match_id)
        if match is not None and match.state != "OPEN":
            raise _Declined(f"MATCH_{match.state}")
        if asked.hold_id in self._holds:
            is_voided = self._holds[asked.hold_id][0] == "voided"
            raise _Declined("HOLD_VOIDED" if is_voided else "HOLD_EXISTS")
        if self._purse(asked.player_id) < asked.stake:
            # The whole transaction is rolled back, so the account is not opened either.
            raise _Declined("INSUFFICIENT_FUNDS")
        self._open(asked.player_id)
        self._matches.setdefault(asked.match_id, _Match(asked.table_id))
        self._holds[asked.hold_id] = "held", asked
        return self._book(journal)

    def _void_hold(self, hold_id: str) -> Answer:
        state, held = self._holds.get(hold_id, ("voided", None))
        if state == "committed":
            raise _Declined("HOLD_COMMITTED")
        self._holds[hold_id] = "voided", held
        if state == "voided" or held is None:
            return Answer()
        return self._book(void_hold(held.table_id, held.player_id, held.stake))

    def _start(self, asked: StartMatch) -> Answer:
        self._refuse_closed(asked.table_id)
        match = self._matches.get(asked.match_id)
        if match is None:
            raise _Declined("HOLDS_MISSING")
        if match.state != "OPEN":
            raise _Declined(f"MATCH_{match.state}")
        named = [hold_id for hold_id in asked.holds if hold_id is not None]
        held = {hold_id: self._held_for(hold_id, asked) for hold_id in named}
        if None in held.values() or len(held) < len(named):
            raise _Declined("HOLDS_MISSING")
        money = MatchMoney.opening(
            table_id=asked.table_id,
            match_id=asked.match_id,
            variant=asked.variant,
            mode=asked.mode,
            stake=asked.stake,
            payers=tuple(held[each] if each is not None else None for each in asked.holds),
            kasa_before=self._kasa(asked.variant, asked.table_id),
            rules=self.rules,
        )
        for hold_id in named:
            self._holds[hold_id] = "committed", self._holds[hold_id][1]
        match.state, match.money = "STARTED", money
        return self._book(start_match(money))

    def _held_for(self, hold_id: str, asked: StartMatch) -> str | None:
        state, held = self._holds.get(hold_id, ("voided", None))
        fits = held is not None and (held.match_id, held.stake) == (asked.match_id, asked.stake)
        return held.player_id if held is not None and fits and state == "held" else None

    def _void(self, match_id: str) -> Answer:
        match = self._matches.get(match_id)
        if match is None or match.state != "OPEN":
            match = self._running(match_id)
            match.state = "VOIDED"
            return self._book(void_match(self._money(match)))
        match.state = "VOIDED"
        held = {
            hold_id: asked
            for hold_id, (state, asked) in self._holds.items()
            if state == "held" and asked is not None and asked.match_id == match_id
        }
        for hold_id, asked in held.items():
            self._holds[hold_id] = "voided", asked
        refunds = [(asked.player_id, asked.stake) for asked in held.values()]
        return self._book(void_open_match(match.table_id, refunds))

    def _forfeit(self, asked: ForfeitSeat) -> Answer:
        match = self._running(asked.match_id)
        money = self._money(match)
        owner = money.owner(asked.seat)
        if owner is None:
            raise _Declined("SEAT_NOT_OWNED")
        purse = self.balances[player_account(owner)]
        cost = forfeit(money, asked.seat, purse, self.rules, asked.cause)
        match.money = money.given_up(asked.seat)
        booked = self._book(cost.journal)
        return Answer("OK", booked.legs, cost.penalty, cost.shortfall)

    def _close(self, table_id: str) -> Answer:
        held = any(
            state == "held" and asked is not None and asked.table_id == table_id
            for state, asked in self._holds.values()
        )
        running = any(
            match.table_id == table_id and match.state == "STARTED"
            for match in self._matches.values()
        )
        if held or running:
            raise _Declined("TABLE_NOT_IDLE")
        self._refuse_closed(table_id)
        self._closed.add(table_id)
        settled = {
            int(match_id.rpartition("-")[2]): match.money.stayed()
            for match_id, match in self._matches.items()
            if match.table_id == table_id and match.state == "SETTLED" and match.money
        }
        stayed = settled[max(settled)] if settled else ()
        kasa = self.balances[kasa_account(table_id)]
        return self._book(close_table(table_id, kasa, stayed, self.rules))

    def _refuse_closed(self, table_id: str) -> None:
        if table_id in self._closed:
            raise _Declined("TABLE_CLOSED")

    def _running(self, match_id: str) -> _Match:
        match = self._matches.get(match_id)
        if match is None or match.state == "OPEN":
            raise _Declined("MATCH_NOT_STARTED")
        if match.state != "STARTED":
            raise _Declined(f"MATCH_{match.state}")
        return match

    def _money(self, match: _Match) -> MatchMoney:
        assert match.money is not None
        return match.money

    def _kasa(self, variant: Variant, table_id: str) -> int:
        return self.balances[kasa_account(table_id)] if variant is Variant.CANAK else 0
