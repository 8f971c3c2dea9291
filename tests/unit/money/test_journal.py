"""Journals balance by construction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okey.money.account import HOUSE_RAKE, Account, player_account
from okey.money.journal import (
    MAX_CHIPS,
    AmountOutOfRange,
    Journal,
    JournalKind,
    Leg,
    UnbalancedJournal,
)

A, B, C = (player_account(name) for name in "abc")


@pytest.mark.parametrize(
    "legs",
    [
        (),
        (Leg(A, 5),),
        (Leg(A, 5), Leg(B, -4)),
        (Leg(A, 5), Leg(B, -5), Leg(C, 0)),
        (Leg(A, 5), Leg(A, -5)),
    ],
)
def test_a_journal_that_makes_loses_or_moves_nothing_is_refused(legs: tuple[Leg, ...]) -> None:
    """M3: every journal has two legs or more and sums to zero."""
    with pytest.raises(UnbalancedJournal, match="M3"):
        Journal(JournalKind.HOLD, legs)


def test_an_amount_beyond_every_pot_is_refused() -> None:
    """M3: an overflow cannot make money."""
    Journal.of(JournalKind.GRANT, [(A, MAX_CHIPS), (B, -MAX_CHIPS)])
    with pytest.raises(AmountOutOfRange, match=str(MAX_CHIPS + 1)):
        Journal.of(JournalKind.GRANT, [(A, MAX_CHIPS + 1), (B, -MAX_CHIPS - 1)])


def test_parts_of_one_account_become_one_leg_and_zeros_go() -> None:
    """M3: one leg an account."""
    journal = Journal.of(JournalKind.SETTLE, [(A, 5), (B, -7), (A, 2), (C, 0)])
    assert journal.legs == (Leg(A, 7), Leg(B, -7))
    assert (journal.amount_of(A), journal.amount_of(C)) == (7, 0)


def test_payouts_name_only_players_who_get_something() -> None:
    """M4: who gets how much is read off the journal."""
    journal = Journal.of(JournalKind.SETTLE, [(A, 5), (B, -7), (HOUSE_RAKE, 2)])
    assert journal.payouts() == {"a": 5}


@given(st.lists(st.tuples(st.sampled_from([A, B, C]), st.integers(-1000, 1000)), max_size=9))
def test_whatever_the_parts_a_journal_sums_to_zero_and_reverses(
    parts: list[tuple[Account, int]],
) -> None:
    """M3: no construction makes or loses a chip."""
    total = sum(amount for _, amount in parts)
    try:
        journal = Journal.of(JournalKind.GRANT, [*parts, (HOUSE_RAKE, -total)])
    except UnbalancedJournal:
        sums = {each: sum(amount for name, amount in parts if name == each) for each in (A, B, C)}
        assert not any(sums.values())
        return
    assert sum(leg.amount for leg in journal.legs) == 0
    back = journal.reversed()
    assert back.kind is JournalKind.REVERSAL
    assert all(back.amount_of(leg.account) == -leg.amount for leg in journal.legs)
