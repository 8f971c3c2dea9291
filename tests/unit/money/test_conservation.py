"""Properties over whole matches: no chip is made or lost, and no seat is favoured."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from okey.money.account import SHARED_ACCOUNTS, Account, escrow_account, player_account
from okey.money.forfeit import ForfeitCause, forfeit
from okey.money.journal import Journal
from okey.money.match import MatchMoney
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import kasa_after, settle
from okey.money.stake import close_table, hold, start_match, void_match
from okey.rules.finish import FinishKind
from okey.rules.variant import Mode, Variant
from tests.unit.money.builders import RULES, TABLE, canak, klasik, rotated

Books = Counter[Account]


@st.composite
def openings(draw: st.DrawFn) -> MatchMoney:
    """Any match that can start: variant, mode, stake, an older kasa, and at least one person."""
    variant = draw(st.sampled_from(Variant))
    mode = draw(st.sampled_from(Mode)) if variant is Variant.CANAK else Mode.NORMAL
    seats = 4 if mode is Mode.ESLI else draw(st.sampled_from((2, 4)))
    payers = "".join(draw(st.sampled_from((name, "-"))) for name in "ABCD"[:seats])
    if not payers.strip("-"):
        payers = "A" + payers[1:]
    stake = draw(st.integers(50, 250_000))
    if variant is Variant.KLASIK:
        return klasik(payers, stake=stake)
    return canak(payers, stake=stake, mode=mode, kasa_before=draw(st.integers(0, 10**6)))


@st.composite
def endings(draw: st.DrawFn) -> tuple[MatchMoney, tuple[int, ...], Outcome | None]:
    """An opening, the seats given up in order, and an outcome; None is a voided match."""
    match = draw(openings())
    owned = [seat for seat in range(len(match.seats)) if match.owner(seat) is not None]
    quitters = tuple(draw(st.permutations(owned))[: draw(st.integers(0, len(owned)))])
    nobody_left = len(quitters) == len(owned)
    any_seat = st.integers(0, len(match.seats) - 1)
    outcomes: list[st.SearchStrategy[Outcome | None]] = [st.none()]
    if match.variant is Variant.CANAK:
        outcomes += [
            st.builds(CanakWin, any_seat, st.sampled_from(FinishKind)),
            st.just(CanakDraw()),
        ]
        outcomes += [st.just(HouseWin())] if nobody_left else []
    else:
        contending = st.lists(any_seat, min_size=1, unique=True).map(tuple)
        outcomes += [st.builds(KlasikWin, any_seat), st.builds(KlasikDraw, contending)]
        outcomes += [st.just(HouseWin())]
    return match, quitters, draw(st.one_of(outcomes))


def book(books: Books, journal: Journal | None) -> None:
    for leg in journal.legs if journal else ():
        books[leg.account] += leg.amount


@given(endings(), st.integers(0, 300_000))
def test_a_whole_match_conserves_every_chip(
    ending: tuple[MatchMoney, tuple[int, ...], Outcome | None], purse: int
) -> None:
    """M3, M5, M10: hold to close sums to zero, pot and escrow end empty, nobody goes below zero."""
    match, quitters, outcome = ending
    kasa_before = match.kasa - match.kasa_share
    books: Books = Counter({match.kasa_account: kasa_before})
    for seat in match.seats:
        if seat.payer is not None:
            books[player_account(seat.payer)] = match.stake + purse
            book(books, hold(TABLE, seat.payer, match.stake, RULES))
    total = sum(books.values())
    book(books, start_match(match))
    assert (books[match.pot_account], books[match.kasa_account]) == (match.pot, match.kasa)
    for seat_no in quitters:
        balance = books[player_account(match.person_at(seat_no))]
        book(books, forfeit(match, seat_no, balance, RULES, ForfeitCause.GAVE_UP).journal)
        match = match.given_up(seat_no)
    if outcome is None:
        book(books, void_match(match))
        assert books[match.kasa_account] == kasa_before
    else:
        book(books, settle(match, outcome, RULES))
        assert books[match.kasa_account] == kasa_after(match, outcome, RULES)
    book(books, close_table(TABLE, books[match.kasa_account], match.stayed(), RULES))
    assert sum(books.values()) == total
    assert (
        books[match.pot_account] == books[escrow_account(TABLE)] == books[match.kasa_account] == 0
    )
    assert all(amount >= 0 for account, amount in books.items() if account not in SHARED_ACCOUNTS)


@given(endings(), st.integers(1, 3))
def test_no_seat_is_favoured(
    ending: tuple[MatchMoney, tuple[int, ...], Outcome | None], by: int
) -> None:
    """M4, M6: who sits where changes nobody's share, odd chips included."""
    match, quitters, outcome = ending
    for seat in quitters:
        match = match.given_up(seat)
    count = len(match.seats)
    moved: Outcome | None = outcome
    match outcome:
        case CanakWin(seat, finish):
            moved = CanakWin((seat + by) % count, finish)
        case KlasikWin(seat):
            moved = KlasikWin((seat + by) % count)
        case KlasikDraw(contending):
            moved = KlasikDraw(tuple((seat + by) % count for seat in contending))
        case _:
            pass
    here = void_match(match) if outcome is None else settle(match, outcome, RULES)
    turned = rotated(match, by)
    there = void_match(turned) if moved is None else settle(turned, moved, RULES)
    assert set(here.legs) == set(there.legs)


@given(endings())
def test_nobody_who_did_not_pay_is_paid(
    ending: tuple[MatchMoney, tuple[int, ...], Outcome | None],
) -> None:
    """M9, Ç11: a settlement pays owners only, and nobody twice."""
    match, quitters, outcome = ending
    for seat in quitters:
        match = match.given_up(seat)
    if outcome is None:
        return
    owners = {seat.owner for seat in match.seats}
    assert set(settle(match, outcome, RULES).payouts()) <= owners
