"""Matches and outcomes for the money tests."""

from dataclasses import replace

from okey.money.account import Account
from okey.money.journal import Journal
from okey.money.match import MatchMoney
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant

RULES = RuleSet()
TABLE, MATCH = "t1", "t1-1"


def canak(
    payers: str = "ABCD",
    *,
    stake: int = 50,
    kasa_before: int = 0,
    mode: Mode = Mode.NORMAL,
    given_up: tuple[int, ...] = (),
) -> MatchMoney:
    """A Çanak match; ``payers`` has one letter a seat: A..D a person, '-' the house."""
    return _match(Variant.CANAK, payers, stake, kasa_before, mode, given_up)


def klasik(payers: str = "ABCD", *, stake: int = 50, given_up: tuple[int, ...] = ()) -> MatchMoney:
    """A Klasik match; letters as in ``canak``."""
    return _match(Variant.KLASIK, payers, stake, 0, Mode.NORMAL, given_up)


def _match(
    variant: Variant,
    payers: str,
    stake: int,
    kasa_before: int,
    mode: Mode,
    given_up: tuple[int, ...],
) -> MatchMoney:
    match = MatchMoney.opening(
        table_id=TABLE,
        match_id=MATCH,
        variant=variant,
        mode=mode,
        stake=stake,
        payers=tuple(None if each == "-" else each for each in payers),
        kasa_before=kasa_before,
        rules=RULES,
    )
    for seat in given_up:
        match = match.given_up(seat)
    return match


def amounts(journal: Journal) -> dict[Account, int]:
    """The journal as a dictionary."""
    return {leg.account: leg.amount for leg in journal.legs}


def rotated(match: MatchMoney, by: int) -> MatchMoney:
    """The same match with everybody sitting ``by`` seats further on."""
    n = len(match.seats)
    return replace(match, seats=tuple(match.seats[(seat - by) % n] for seat in range(n)))
