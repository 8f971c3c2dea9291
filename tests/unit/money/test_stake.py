"""Stakes before and at the start, and matches taken back."""

from dataclasses import replace

import pytest

from okey.money.account import (
    HOUSE_BOT_BANK,
    HOUSE_UNCLAIMED,
    SYSTEM_ISSUANCE,
    escrow_account,
    player_account,
)
from okey.money.journal import AmountOutOfRange, JournalKind
from okey.money.stake import (
    StakeOutOfRange,
    close_table,
    erase,
    grant,
    hold,
    start_match,
    void_hold,
    void_match,
    void_open_match,
)
from okey.rules.rule_set import RULE_SET_2026_11, LeftoverKasa, RuleSet
from okey.rules.variant import Mode
from tests.unit.money.builders import RULES, amounts, canak, klasik


def test_joining_holds_the_stake_and_leaving_gives_it_back_whole() -> None:
    """M1: without penalty."""
    held, back = hold("t1", "A", 57, RULES), void_hold("t1", "A", 57)
    assert amounts(held) == {"player:A": -57, "escrow:t1": 57}
    assert all(back.amount_of(leg.account) == -leg.amount for leg in held.legs)


@pytest.mark.parametrize("stake", [49, 250_001, -50, 0])
def test_a_stake_outside_the_range_is_refused(stake: int) -> None:
    """Ç1: 50..250,000 chips; a negative amount never makes money."""
    with pytest.raises(StakeOutOfRange, match=str(stake)):
        hold("t1", "A", stake, RULES)


@pytest.mark.parametrize("stake", [50, 250_000])
def test_the_ends_of_the_stakes_range_are_in_it(stake: int) -> None:
    """Ç1: 50 and 250,000 can be staked."""
    assert hold("t1", "A", stake, RULES).amount_of(escrow_account("t1")) == stake


def test_the_start_turns_all_stakes_into_pot_and_kasa_share() -> None:
    """Ç2: 90 % and 10 %."""
    assert amounts(start_match(canak(stake=57))) == {
        "escrow:t1": -228,
        "pot:t1-1": 206,
        "kasa:t1": 22,
    }


def test_klasik_starts_with_the_whole_stakes_in_the_pot() -> None:
    """K7: the rake is booked at settlement, not here."""
    assert amounts(start_match(klasik("AB"))) == {"escrow:t1": -100, "pot:t1-1": 100}


def test_the_bot_bank_pays_for_the_houses_seats() -> None:
    """M7, W5: solo bots and fill-ins."""
    legs = amounts(start_match(canak("A---", mode=Mode.SOLO)))
    assert legs == {"escrow:t1": -50, HOUSE_BOT_BANK: -150, "pot:t1-1": 180, "kasa:t1": 20}


def test_voiding_gives_every_stake_back_and_leaves_the_older_kasa() -> None:
    """M10: this match's share comes out of the kasa; a quitter's stake goes to the quitter."""
    match = canak("ABC-", stake=57, kasa_before=300, given_up=(1,))
    assert amounts(void_match(match)) == {
        "pot:t1-1": -206,
        "kasa:t1": -22,
        "player:A": 57,
        "player:B": 57,
        "player:C": 57,
        HOUSE_BOT_BANK: 57,
    }


def test_voiding_before_the_start_gives_back_what_is_held() -> None:
    """M10, M1: nothing is in the pot yet; with nothing held nothing is booked."""
    journal = void_open_match("t1", [("A", 57), ("B", 57)])
    assert journal is not None
    assert amounts(journal) == {"escrow:t1": -114, "player:A": 57, "player:B": 57}
    assert void_open_match("t1", []) is None


def test_voiding_klasik_takes_no_rake() -> None:
    """M10: rake is booked at settlement only."""
    assert amounts(void_match(klasik("AB"))) == {"pot:t1-1": -100, "player:A": 50, "player:B": 50}


def test_what_is_left_in_the_kasa_goes_back_to_who_played_to_the_end() -> None:
    """Ç10: 320 chips for three people are 106 each, and two odd ones for house:unclaimed."""
    journal = close_table("t1", 320, ("A", "B", "D"), RULES)
    assert journal is not None
    shares = {"player:A": 106, "player:B": 106, "player:D": 106}
    assert amounts(journal) == {"kasa:t1": -320, **shares, HOUSE_UNCLAIMED: 2}


@pytest.mark.parametrize(
    ("stayed", "rules"),
    [
        ((), RULES),
        (("A", "B"), RULE_SET_2026_11),
        (("A",), replace(RULES, leftover_kasa=LeftoverKasa.HOUSE)),
    ],
)
def test_a_kasa_that_nobody_played_for_goes_to_the_house(
    stayed: tuple[str, ...], rules: RuleSet
) -> None:
    """Ç10: so does every one where the rule set says HOUSE, or is from before the choice."""
    journal = close_table("t1", 320, stayed, rules)
    assert journal is not None
    assert amounts(journal) == {"kasa:t1": -320, HOUSE_UNCLAIMED: 320}


def test_a_kasa_of_fewer_chips_than_people_goes_to_the_house() -> None:
    """Ç10: equal parts of nothing; an empty kasa books nothing."""
    journal = close_table("t1", 2, ("A", "B", "C"), RULES)
    assert journal is not None
    assert amounts(journal) == {"kasa:t1": -2, HOUSE_UNCLAIMED: 2}
    assert close_table("t1", 0, ("A",), RULES) is None


def test_chips_come_from_the_issuance_only() -> None:
    """M3: a grant."""
    assert amounts(grant("A", 10_000)) == {SYSTEM_ISSUANCE: -10_000, "player:A": 10_000}
    assert grant("A", 1, JournalKind.WELCOME).kind is JournalKind.WELCOME


@pytest.mark.parametrize("amount", [0, -5])
def test_a_grant_takes_nothing_away(amount: int) -> None:
    """M3: a negative grant is refused."""
    with pytest.raises(AmountOutOfRange, match=str(amount)):
        grant("A", amount)


def test_what_an_erased_player_had_is_unclaimed() -> None:
    """M3: it leaves the player whole, and a journal of nothing is none."""
    journal = erase("ada", 320)
    assert journal is not None
    assert journal.kind is JournalKind.ERASE
    assert {leg.account: leg.amount for leg in journal.legs} == {
        player_account("ada"): -320,
        HOUSE_UNCLAIMED: 320,
    }
    assert erase("ada", 0) is None
