"""A ledger in a dictionary: answers a table's money events as the wallet does, by ``okey.money``.

The simulation plays with it, and tests hold the real wallet and the table's own kasa against it.
"""

from collections import Counter
from typing import assert_never

from okey.money.account import Account, kasa_account, player_account
from okey.money.forfeit import forfeit
from okey.money.journal import Journal
from okey.money.match import MatchMoney, joining_price
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import settle
from okey.money.stake import close_table, grant, hold, start_match, void_hold, void_match
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.reasons import OutcomeKind

Answer = c.ConfirmHold | c.DeclineHold | c.ConfirmStart | c.ConfirmSettlement


class DictionaryLedger:
    """Balances by account, in chips; one table's events after another, each exactly once.

    Tables that share players share ``balances``.
    """

    def __init__(self, config: TableConfig, balances: Counter[Account] | None = None) -> None:
        self.config = config
        self.balances: Counter[Account] = Counter() if balances is None else balances
        self.holds: dict[str, str] = {}  # hold id -> player, while it stands
        self.match: MatchMoney | None = None
        self.stayed: tuple[str, ...] = ()  # who played the last match to the end

    @property
    def total(self) -> int:
        """The sum over all accounts: always zero (M3)."""
        return sum(self.balances.values())

    def welcome(self, player: str, chips: int) -> None:
        """Grant a player chips (M3)."""
        self._book(grant(player, chips))

    def take(self, event: e.Event) -> Answer | None:
        """Book what the event moves; the wallet's answer for the table, where it waits for one."""
        match event:
            case e.SeatRequested(_, player, hold_id):
                return self._hold(player, hold_id)
            case e.SeatVacated(_, player, hold_id) if hold_id in self.holds:
                del self.holds[hold_id]
                self._book(void_hold(self.config.table_id, player, self.config.stake))
            case e.MatchStartRequested(match_id, _, hold_ids):
                self._start(match_id, hold_ids)
                return c.ConfirmStart(match_id)
            case e.SeatForfeited(_, seat, player, _, is_penalised):
                self._forfeit(seat, player, is_penalised=is_penalised)
            case e.MatchEnded(match_id):
                running = self._running()
                self._book(settle(running, money_outcome(event), self.config.rules))
                self.match, self.stayed = None, running.stayed()
                return c.ConfirmSettlement(match_id)
            case e.MatchVoided():
                self._book(void_match(self._running()))
                self.match = None
            case e.TableClosed():
                kasa = self.balances[kasa_account(self.config.table_id)]
                table_id, rules = self.config.table_id, self.config.rules
                self._book(close_table(table_id, kasa, self.stayed, rules))
            case _:
                pass
        return None

    def _book(self, journal: Journal | None) -> None:
        if journal is not None:
            for leg in journal.legs:
                self.balances[leg.account] += leg.amount

    def _running(self) -> MatchMoney:
        assert self.match is not None, "a money event of a match that was never started"
        return self.match

    def _hold(self, player: str, hold_id: str) -> c.ConfirmHold | c.DeclineHold:
        price = joining_price(self.config.stake, self.config.rules)
        if self.balances[player_account(player)] < price:
            return c.DeclineHold(hold_id, "INSUFFICIENT_FUNDS")
        self.holds[hold_id] = player
        self._book(hold(self.config.table_id, player, self.config.stake, self.config.rules))
        return c.ConfirmHold(hold_id)

    def _start(self, match_id: str, hold_ids: tuple[str, ...]) -> None:
        config = self.config
        self.match = MatchMoney.opening(
            table_id=config.table_id,
            match_id=match_id,
            variant=config.variant,
            mode=config.mode,
            stake=config.stake,
            payers=tuple(self.holds.pop(hold_id) if hold_id else None for hold_id in hold_ids),
            kasa_before=self.balances[kasa_account(config.table_id)],
            rules=config.rules,
        )
        self._book(start_match(self.match))

    def _forfeit(self, seat: int, player: str, *, is_penalised: bool) -> None:
        running = self._running()
        if is_penalised:
            balance = self.balances[player_account(player)]
            self._book(forfeit(running, seat, balance, self.config.rules).journal)
        self.match = running.given_up(seat)


def money_outcome(event: e.MatchEnded) -> Outcome:
    """The outcome as the money rules are told it: who and how (M4)."""
    match event.kind:
        case OutcomeKind.CANAK_WIN:
            assert event.finish is not None, "a Çanak win says how it was finished"
            return CanakWin(event.winner, event.finish)
        case OutcomeKind.CANAK_DRAW:
            return CanakDraw()
        case OutcomeKind.KLASIK_WIN:
            return KlasikWin(event.winner)
        case OutcomeKind.KLASIK_DRAW:
            return KlasikDraw(event.contending)
        case OutcomeKind.HOUSE_WIN:
            return HouseWin()
        case _:
            assert_never(event.kind)
