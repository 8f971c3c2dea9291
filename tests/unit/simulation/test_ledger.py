"""The dictionary ledger: what the wallet would book for a table's events."""

from dataclasses import replace

from okey.money.account import Account, player_account
from okey.money.outcome import HouseWin, KlasikDraw
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.variant import Variant
from okey.simulation.ledger import DictionaryLedger, money_outcome
from okey.table import commands as c
from okey.table import events as e
from okey.table.config import TableConfig
from okey.table.reasons import (
    CloseReason,
    Departure,
    ForfeitReason,
    OutcomeKind,
    VacateReason,
    VoidReason,
)

CONFIG = TableConfig("t", seat_count=2)
MATCH = "t-1"


def started(config: TableConfig = CONFIG) -> DictionaryLedger:
    """Two players with 200 chips each, both held, the match started."""
    ledger = DictionaryLedger(config)
    for seat, player in enumerate(("ayse", "bora")):
        ledger.welcome(player, 200)
        assert ledger.take(e.SeatRequested(seat, player, f"h{seat}", 0)) == c.ConfirmHold(
            f"h{seat}"
        )
    assert ledger.take(e.MatchStartRequested(MATCH, 1, ("h0", "h1"))) == c.ConfirmStart(MATCH)
    return ledger


def ended(kind: OutcomeKind, contending: tuple[int, ...] = ()) -> e.MatchEnded:
    """A match that ended without a winner."""
    return e.MatchEnded(
        MATCH, kind, -1, None, contending, False, ("ayse", "bora"), (Departure.STAYED,) * 2, (), 0
    )


def test_who_cannot_pay_is_declined_and_nothing_is_booked() -> None:
    """M2, M3: a stake that is not there is not held."""
    ledger = DictionaryLedger(CONFIG)
    ledger.welcome("ayse", 49)
    answer = ledger.take(e.SeatRequested(0, "ayse", "h", 0))
    assert answer == c.DeclineHold("h", "INSUFFICIENT_FUNDS")
    assert ledger.balances[player_account("ayse")] == 49


def test_leaving_gives_the_stake_back_once() -> None:
    """M1, M5: a hold is voided once, and a seat without one moves nothing."""
    ledger = DictionaryLedger(CONFIG)
    ledger.welcome("ayse", 50)
    ledger.take(e.SeatRequested(0, "ayse", "h", 0))
    left = e.SeatVacated(0, "ayse", "h", VacateReason.LEFT, 0)
    for _ in range(2):
        assert ledger.take(left) is None
        assert ledger.balances[player_account("ayse")] == 50


def test_a_penalty_is_taken_only_where_giving_up_is_penalised() -> None:
    """M9, U9: half the stake goes to the house unless the rule set spares the absent."""
    for is_penalised, penalty in ((True, 25), (False, 0)):
        ledger = started()
        ledger.take(e.SeatForfeited(MATCH, 1, "bora", ForfeitReason.ABANDONED, is_penalised, 0))
        assert ledger.balances[Account("house:penalty")] == penalty
        assert ledger.match is not None
        assert ledger.match.owner(1) is None


def test_a_voided_match_gives_every_stake_back() -> None:
    """M10: stakes return, the match's kasa share too."""
    ledger = started()
    sealed = c.seal(bytes(32))
    ledger.take(e.MatchVoided(MATCH, VoidReason.OPERATOR, "op", "", b"", sealed, 0))
    assert ledger.match is None
    assert {ledger.balances[player_account(player)] for player in ("ayse", "bora")} == {200}
    assert ledger.total == 0


def test_a_closing_table_gives_its_kasa_back() -> None:
    """Ç10: to who played to the end; bora gave up, so that its 45 of the pot are there too."""
    ledger = started()
    ledger.take(e.SeatForfeited(MATCH, 1, "bora", ForfeitReason.GAVE_UP, True, 0))
    assert ledger.take(ended(OutcomeKind.CANAK_DRAW)) == c.ConfirmSettlement(MATCH)
    ledger.take(e.TableClosed(CloseReason.NO_PEOPLE))
    assert ledger.balances[Account("house:unclaimed")] == 0
    assert ledger.balances[player_account("ayse")] == 200 - 50 + 45 + 10 + 45


def test_every_kind_of_end_is_told_to_the_money_rules() -> None:
    """M4, M8, K10: who and how, never an amount."""
    assert money_outcome(ended(OutcomeKind.HOUSE_WIN)) == HouseWin()
    assert money_outcome(ended(OutcomeKind.KLASIK_DRAW, (0, 1))) == KlasikDraw((0, 1))


def test_a_drawn_klasik_match_shares_its_pot() -> None:
    """K10: without rake, in equal parts."""
    klasik = replace(CONFIG, variant=Variant.KLASIK, start_points=3, rules=DEFAULT_RULE_SET)
    ledger = started(klasik)
    ledger.take(ended(OutcomeKind.KLASIK_DRAW, (0, 1)))
    assert {ledger.balances[player_account(player)] for player in ("ayse", "bora")} == {200}
