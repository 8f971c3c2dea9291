"""Who gets what at a match's end."""

import pytest

from okey.money.account import HOUSE_BONUS, HOUSE_BOT_BANK, HOUSE_RAKE, HOUSE_UNCLAIMED
from okey.money.match import MalformedMatch, MatchMoney
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import OutcomeDoesNotFit, kasa_after, settle
from okey.rules.finish import FinishKind
from okey.rules.rule_set import RULE_SET_2026_11
from okey.rules.variant import Mode
from tests.unit.money.builders import RULES, amounts, canak, klasik


def legs(match: MatchMoney, outcome: Outcome) -> dict[str, int]:
    return {
        str(account): amount for account, amount in amounts(settle(match, outcome, RULES)).items()
    }


def test_a_normal_win_takes_the_pot_and_leaves_the_kasa() -> None:
    """Ç3: only the pot."""
    match = canak(kasa_before=300)
    outcome = CanakWin(2, FinishKind.NORMAL)
    assert legs(match, outcome) == {"pot:t1-1": -180, "player:C": 180}
    assert kasa_after(match, outcome, RULES) == 320


@pytest.mark.parametrize("finish", [FinishKind.OKEY, FinishKind.CIFT])
def test_an_okey_win_or_announced_cift_takes_pot_and_whole_kasa(finish: FinishKind) -> None:
    """Ç4: this match's share and all older ones."""
    match = canak(kasa_before=300)
    outcome = CanakWin(2, finish)
    assert legs(match, outcome) == {"pot:t1-1": -180, "kasa:t1": -320, "player:C": 500}
    assert kasa_after(match, outcome, RULES) == 0


def test_both_together_bring_half_the_stake_on_top_from_the_house() -> None:
    """Ç5: floor(stake/2), once per win."""
    match = canak("AB", stake=57, kasa_before=300)
    assert legs(match, CanakWin(0, FinishKind.CIFT_OKEY)) == {
        "pot:t1-1": -103,
        "kasa:t1": -311,
        HOUSE_BONUS: -28,
        "player:A": 442,
    }


@pytest.mark.parametrize("finish", list(FinishKind))
@pytest.mark.parametrize(("payers", "seat"), [("A-", 1), ("A---", 3)])
def test_a_house_seat_takes_the_pot_but_never_kasa_nor_bonus(
    payers: str, seat: int, finish: FinishKind
) -> None:
    """Ç11: it has paid its stake, so the pot is the bot bank's; the kasa stays."""
    match = canak(payers, kasa_before=300)
    outcome = CanakWin(seat, finish)
    assert legs(match, outcome) == {"pot:t1-1": -match.pot, HOUSE_BOT_BANK: match.pot}
    assert kasa_after(match, outcome, RULES) == match.kasa


@pytest.mark.parametrize("finish", list(FinishKind))
def test_a_given_up_seats_pot_goes_into_the_kasa(finish: FinishKind) -> None:
    """Ç11: 200 chips staked, 20 of them to the kasa of 300; 180 more stay with it."""
    match = canak(kasa_before=300, given_up=(2,))
    outcome = CanakWin(2, finish)
    assert legs(match, outcome) == {"pot:t1-1": -180, "kasa:t1": 180}
    assert kasa_after(match, outcome, RULES) == 500
    old = settle(match, outcome, RULE_SET_2026_11)
    assert amounts(old) == {"pot:t1-1": -180, HOUSE_BOT_BANK: 180}


def test_a_side_of_a_bot_and_a_given_up_seat_wins_for_the_bot_bank() -> None:
    """Ç11, M6: the bank has paid for a seat of the side, whichever of the two finished."""
    match = canak("A-CD", mode=Mode.ESLI, given_up=(3,))
    for finisher in (1, 3):
        outcome = CanakWin(finisher, FinishKind.NORMAL)
        assert legs(match, outcome) == {"pot:t1-1": -180, HOUSE_BOT_BANK: 180}


@pytest.mark.parametrize("finisher", [1, 3])
def test_a_pair_shares_and_the_finisher_has_the_odd_chip(finisher: int) -> None:
    """M6, Ç5: pot, kasa and the bonus once, halved; whichever partner finished."""
    match = canak(stake=57, kasa_before=300, mode=Mode.ESLI)
    prize = 206 + 322 + 28
    assert prize % 2 == 0  # so take one more chip of kasa for an odd prize
    match = canak(stake=57, kasa_before=301, mode=Mode.ESLI)
    partner = {1: "D", 3: "B"}[finisher]
    name = {1: "B", 3: "D"}[finisher]
    assert legs(match, CanakWin(finisher, FinishKind.CIFT_OKEY)) == {
        "pot:t1-1": -206,
        "kasa:t1": -323,
        HOUSE_BONUS: -28,
        f"player:{name}": 279,
        f"player:{partner}": 278,
    }


@pytest.mark.parametrize("finisher", [0, 2])
def test_the_only_person_of_a_winning_pair_gets_all(finisher: int) -> None:
    """M6, Ç11: kasa and bonus included, also where the house partner finished."""
    match = canak(kasa_before=300, mode=Mode.ESLI, given_up=(2,))
    outcome = CanakWin(finisher, FinishKind.CIFT_OKEY)
    assert settle(match, outcome, RULES).payouts() == {"A": 180 + 320 + 25}
    assert kasa_after(match, outcome, RULES) == 0


def test_the_pot_of_a_side_that_wholly_gave_up_goes_into_the_kasa() -> None:
    """M6, Ç11: nobody of it is a person, and the bank paid for none."""
    match = canak(kasa_before=300, mode=Mode.ESLI, given_up=(0, 2))
    outcome = CanakWin(0, FinishKind.CIFT_OKEY)
    assert legs(match, outcome) == {"pot:t1-1": -180, "kasa:t1": 180}
    assert kasa_after(match, outcome, RULES) == 500


def test_a_draw_gives_the_pot_back_in_equal_parts() -> None:
    """Ç7: the remainder joins the kasa, the 10 % stays there."""
    match = canak(stake=57, kasa_before=300)
    assert legs(match, CanakDraw()) == {
        "pot:t1-1": -206,
        "kasa:t1": 2,
        **{f"player:{name}": 51 for name in "ABCD"},
    }
    assert kasa_after(match, CanakDraw(), RULES) == 324


def test_a_draw_puts_the_part_of_a_seat_given_up_into_the_kasa() -> None:
    """Ç7: not back to the quitter, not to the house."""
    match = canak(given_up=(1,))
    assert legs(match, CanakDraw()) == {
        "pot:t1-1": -180,
        "kasa:t1": 45,
        **{f"player:{name}": 45 for name in "ACD"},
    }


def test_a_draw_gives_the_bots_part_back_to_the_bot_bank() -> None:
    """Ç7, M7: the bank is the payer of a solo bot's seat."""
    match = canak("A-", mode=Mode.SOLO)
    assert legs(match, CanakDraw()) == {"pot:t1-1": -90, HOUSE_BOT_BANK: 45, "player:A": 45}


def test_klasik_pays_the_winner_all_but_the_rake() -> None:
    """K7: 10 % floor of the pot."""
    assert legs(klasik(stake=57), KlasikWin(3)) == {
        "pot:t1-1": -228,
        HOUSE_RAKE: 22,
        "player:D": 206,
    }


def test_a_house_seat_that_wins_klasik_wins_for_the_bot_bank() -> None:
    """K9, K7: raked like any other win."""
    assert legs(klasik(given_up=(3,)), KlasikWin(3)) == {
        "pot:t1-1": -200,
        HOUSE_RAKE: 20,
        HOUSE_BOT_BANK: 180,
    }


def test_a_drawn_klasik_match_is_shared_without_rake_by_those_still_contending() -> None:
    """K10: equal parts of the whole pot, the remainder unclaimed."""
    assert legs(klasik(stake=58), KlasikDraw((0, 1, 3))) == {
        "pot:t1-1": -232,
        **{f"player:{name}": 77 for name in "ABD"},
        HOUSE_UNCLAIMED: 1,
    }


def test_a_contending_house_seats_part_of_a_drawn_match_is_the_bot_banks() -> None:
    """K10: two of them, one leg."""
    match = klasik(given_up=(1, 2))
    assert legs(match, KlasikDraw((0, 1, 2))) == {
        "pot:t1-1": -200,
        "player:A": 66,
        HOUSE_BOT_BANK: 132,
        HOUSE_UNCLAIMED: 2,
    }


def test_with_nobody_left_who_can_win_the_pot_is_the_bot_banks() -> None:
    """M8, Ç11: the kasa stays until the table closes."""
    match = canak(kasa_before=300, given_up=(0, 1, 2, 3))
    assert legs(match, HouseWin()) == {"pot:t1-1": -180, HOUSE_BOT_BANK: 180}
    assert kasa_after(match, HouseWin(), RULES) == 320


def test_klasik_won_by_the_house_is_raked() -> None:
    """M8, K7: also where a person without a chance still owns a seat."""
    assert legs(klasik(given_up=(0, 1)), HouseWin()) == {
        "pot:t1-1": -200,
        HOUSE_RAKE: 20,
        HOUSE_BOT_BANK: 180,
    }


def test_the_house_does_not_win_canak_while_a_person_can() -> None:
    """M8: every owner of a Çanak seat can still win."""
    with pytest.raises(OutcomeDoesNotFit, match="M8"):
        settle(canak(given_up=(0, 1, 2)), HouseWin(), RULES)


@pytest.mark.parametrize(
    ("match", "outcome"),
    [
        (klasik(), CanakWin(0, FinishKind.NORMAL)),
        (klasik(), CanakDraw()),
        (canak(), KlasikWin(0)),
        (canak(), KlasikDraw((0, 1))),
        (klasik(), KlasikDraw(())),
        (klasik(), KlasikDraw((1, 1))),
    ],
)
def test_an_outcome_that_the_match_cannot_have_is_refused(
    match: MatchMoney, outcome: Outcome
) -> None:
    """M4: the wallet believes no caller blindly."""
    with pytest.raises(OutcomeDoesNotFit):
        settle(match, outcome, RULES)


@pytest.mark.parametrize(
    ("match", "outcome"),
    [
        (canak("AB"), CanakWin(2, FinishKind.NORMAL)),
        (klasik("AB"), KlasikWin(-1)),
        (klasik("AB"), KlasikDraw((0, 3))),
    ],
)
def test_a_winner_who_does_not_sit_there_is_refused(match: MatchMoney, outcome: Outcome) -> None:
    """M4: nobody who did not play is paid."""
    with pytest.raises(MalformedMatch):
        settle(match, outcome, RULES)
