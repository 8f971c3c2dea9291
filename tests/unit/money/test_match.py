"""What a match's money is made of."""

import pytest

from okey.money.match import (
    MalformedMatch,
    MatchMoney,
    SeatMoney,
    SeatNotOwned,
    bonus_of,
    forfeit_price,
    joining_price,
    kasa_share_of,
    pot_of,
    rake_of,
)
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant
from tests.unit.money.builders import RULES, canak, klasik


@pytest.mark.parametrize(
    ("stake", "seats", "share"),
    [(50, 4, 20), (50, 2, 10), (57, 2, 11), (99, 4, 39), (250_000, 4, 100_000)],
)
def test_ten_percent_of_all_stakes_go_to_the_kasa_rounded_down(
    stake: int, seats: int, share: int
) -> None:
    """Ç2: kasa share = floor(total/10), the rest is the pot."""
    assert kasa_share_of(Variant.CANAK, stake, seats, RULES) == share
    assert pot_of(Variant.CANAK, stake, seats, RULES) == stake * seats - share


def test_klasik_has_no_kasa_and_the_whole_stakes_as_pot() -> None:
    """K7: pot = stake x seats, no kasa."""
    assert kasa_share_of(Variant.KLASIK, 57, 4, RULES) == 0
    assert pot_of(Variant.KLASIK, 57, 4, RULES) == 228
    assert (klasik(stake=57).pot, klasik(stake=57).kasa) == (228, 0)


def test_the_kasa_of_this_match_counts() -> None:
    """Ç2: the share is in the kasa from the deal on."""
    match = canak(kasa_before=300, stake=57)
    assert (match.kasa, match.kasa_share, match.pot) == (322, 22, 206)


def test_shares_are_rounded_down() -> None:
    """K7, Ç5, M9: rake, bonus and penalty are floors."""
    assert (rake_of(119, RULES), bonus_of(57, RULES), forfeit_price(57, RULES)) == (11, 28, 28)


def test_joining_asks_for_the_penalty_too_only_where_the_setting_says_so() -> None:
    """M1, M9: off by default."""
    assert joining_price(57, RULES) == 57
    assert joining_price(57, RuleSet(forfeit_stake_reserve=True)) == 85


def test_giving_up_makes_the_seat_the_houses_and_keeps_its_payer() -> None:
    """M9: an AI takes the seat, the stake stays in the pot."""
    match = canak().given_up(2)
    assert match.seats[2] == SeatMoney("C", None)
    assert match.pot == canak().pot
    assert match.person_at(1) == "B"


def test_a_house_seat_cannot_be_given_up() -> None:
    """M9: neither a bot's nor one given up before."""
    with pytest.raises(SeatNotOwned, match="seat 1"):
        canak("A-", mode=Mode.SOLO).given_up(1)
    with pytest.raises(SeatNotOwned, match="seat 2"):
        canak(given_up=(2,)).given_up(2)


@pytest.mark.parametrize("seat", [-1, 4])
def test_a_seat_that_is_none_is_refused(seat: int) -> None:
    """M4: an outcome can only name the match's seats."""
    with pytest.raises(MalformedMatch, match=str(seat)):
        canak().owner(seat)


def test_a_seat_is_its_payers_or_the_houses() -> None:
    """M9: nobody plays for somebody else's stake."""
    with pytest.raises(MalformedMatch, match="bora"):
        SeatMoney("ayse", "bora")
    with pytest.raises(MalformedMatch):
        SeatMoney(None, "ayse")


@pytest.mark.parametrize(
    ("payers", "mode", "stake", "kasa_before"),
    [
        ("ABC", Mode.NORMAL, 50, 0),
        ("AB", Mode.ESLI, 50, 0),
        ("AB", Mode.NORMAL, 0, 0),
        ("AB", Mode.NORMAL, 50, -1),
        ("--", Mode.SOLO, 50, 0),
        ("AA", Mode.NORMAL, 50, 0),
    ],
)
def test_a_match_that_cannot_be_is_refused(
    payers: str, mode: Mode, stake: int, kasa_before: int
) -> None:
    """Ç0, O2, W3: seats, stake, kasa and payers must fit together."""
    with pytest.raises(MalformedMatch):
        canak(payers, mode=mode, stake=stake, kasa_before=kasa_before)


@pytest.mark.parametrize(("mode", "kasa"), [(Mode.SOLO, 0), (Mode.ESLI, 0), (Mode.NORMAL, 10)])
def test_klasik_knows_no_solo_no_esli_and_no_kasa(mode: Mode, kasa: int) -> None:
    """K1, K7: Klasik is for everyone for themselves."""
    with pytest.raises(MalformedMatch, match="Klasik"):
        MatchMoney(
            table_id="t1",
            match_id="t1-1",
            variant=Variant.KLASIK,
            mode=mode,
            stake=50,
            seats=canak().seats,
            kasa=kasa,
            kasa_share=0,
        )
