"""Who gets pot, kasa and bonus when a match is over (Ç3..Ç7, Ç11, K7, K9, K10, M6, M8)."""

from typing import assert_never

from okey.errors import InvalidInput
from okey.money.account import (
    HOUSE_BONUS,
    HOUSE_BOT_BANK,
    HOUSE_RAKE,
    HOUSE_UNCLAIMED,
    Account,
    player_account,
)
from okey.money.journal import Journal, JournalKind
from okey.money.match import MatchMoney, bonus_of, rake_of
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.rules.finish import FinishKind
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant, partner_of

Parts = list[tuple[Account, int]]


class OutcomeDoesNotFit(InvalidInput):
    """An outcome that this match cannot have."""

    reason = "OUTCOME_DOES_NOT_FIT"


def settle(match: MatchMoney, outcome: Outcome, rules: RuleSet) -> Journal:
    """The journal that empties the pot. Raises ``OutcomeDoesNotFit``, ``MalformedMatch``."""
    _require_fit(match, outcome)
    match outcome:
        case CanakWin(seat, finish):
            parts = _canak_win(match, seat, finish, rules)
        case CanakDraw():
            parts = _canak_draw(match)
        case KlasikWin(seat):
            parts = _raked(match, _owner_account(match, seat), rules)
        case KlasikDraw(contending):
            parts = _klasik_draw(match, contending)
        case HouseWin():
            parts = _house_win(match, rules)
        case _:
            assert_never(outcome)
    return Journal.of(JournalKind.SETTLE, [(match.pot_account, -match.pot), *parts])


def kasa_after(match: MatchMoney, outcome: Outcome, rules: RuleSet) -> int:
    """Ç3..Ç8: the table's kasa after the settlement, in chips; zero closes the table (Ç10)."""
    return match.kasa + settle(match, outcome, rules).amount_of(match.kasa_account)


def _require_fit(match: MatchMoney, outcome: Outcome) -> None:
    canak = match.variant is Variant.CANAK
    if isinstance(outcome, CanakWin | CanakDraw) and not canak:
        raise OutcomeDoesNotFit(
            f"{outcome} of {match.match_id}, a Klasik match: tell a Klasik outcome"
        )
    if isinstance(outcome, KlasikWin | KlasikDraw) and canak:
        raise OutcomeDoesNotFit(
            f"{outcome} of {match.match_id}, a Çanak match: tell a Çanak outcome"
        )
    if isinstance(outcome, KlasikDraw):
        seats = outcome.contending
        if not seats or len(set(seats)) < len(seats):
            raise OutcomeDoesNotFit(
                f"contending seats {seats} are not one or more different ones (K10)"
            )
    if isinstance(outcome, HouseWin) and canak and any(seat.owner for seat in match.seats):
        # In Klasik a person without a chance may still own a seat: only Çanak can be checked.
        raise OutcomeDoesNotFit(f"a person still owns a seat of {match.match_id} and can win (M8)")


def _owner_account(match: MatchMoney, seat: int) -> Account:
    owner = match.owner(seat)
    return HOUSE_BOT_BANK if owner is None else player_account(owner)


def _canak_win(match: MatchMoney, seat: int, finish: FinishKind, rules: RuleSet) -> Parts:
    winners = _winners(match, seat)
    if not winners:
        return [(_house_winner(match, seat, rules), match.pot)]  # Ç11: neither kasa nor bonus
    kasa = 0 if finish is FinishKind.NORMAL else match.kasa
    bonus = bonus_of(match.stake, rules) if finish is FinishKind.CIFT_OKEY else 0
    prize = match.pot + kasa + bonus
    share, odd = divmod(prize, len(winners))
    shares = [(player_account(player), share) for player in winners]
    return [(match.kasa_account, -kasa), (HOUSE_BONUS, -bonus), (shares[0][0], odd), *shares]


def _winners(match: MatchMoney, seat: int) -> list[str]:
    """M6: the people of the winning side, the finisher first where the finisher is one of them."""
    owners = [match.owner(each) for each in _side(match, seat)]
    return [owner for owner in owners if owner is not None]


def _side(match: MatchMoney, seat: int) -> list[int]:
    """Who wins with the seat: itself, and its partner in Eşli."""
    return [seat, partner_of(seat)] if match.mode is Mode.ESLI else [seat]


def _house_winner(match: MatchMoney, seat: int, rules: RuleSet) -> Account:
    """Ç11: the bot bank wins where it paid for a seat of the side; a given-up one's pot stays."""
    is_paid = any(match.seats[each].payer is None for each in _side(match, seat))
    return HOUSE_BOT_BANK if is_paid or not rules.bars_given_up_seats else match.kasa_account


def _canak_draw(match: MatchMoney) -> Parts:
    share, remainder = divmod(match.pot, len(match.seats))
    parts: Parts = [(match.kasa_account, remainder)]
    for seat in match.seats:
        if seat.payer is None:
            parts.append((HOUSE_BOT_BANK, share))
        elif seat.owner is None:
            parts.append((match.kasa_account, share))  # Ç7: a given-up seat's part
        else:
            parts.append((player_account(seat.owner), share))
    return parts


def _raked(match: MatchMoney, winner: Account, rules: RuleSet) -> Parts:
    # K7 spares no winner the rake, so a house seat's win and M8 are raked like any other.
    rake = rake_of(match.pot, rules)
    return [(HOUSE_RAKE, rake), (winner, match.pot - rake)]


def _house_win(match: MatchMoney, rules: RuleSet) -> Parts:
    if match.variant is Variant.KLASIK:
        return _raked(match, HOUSE_BOT_BANK, rules)
    return [(HOUSE_BOT_BANK, match.pot)]


def _klasik_draw(match: MatchMoney, contending: tuple[int, ...]) -> Parts:
    share, remainder = divmod(match.pot, len(contending))
    parts: Parts = [(_owner_account(match, seat), share) for seat in contending]
    return [*parts, (HOUSE_UNCLAIMED, remainder)]
