"""Stakes on every wallet database: held, given back, made into pot and kasa at the start."""

from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from okey.money.account import (
    HOUSE_BOT_BANK,
    escrow_account,
    pot_account,
)
from okey.money.match import MalformedMatch
from okey.money.stake import StakeOutOfRange
from okey.rules.variant import Mode
from services.wallet import decline
from services.wallet.house_watch import tell_house
from tests.contract.wallet_house import RESERVING
from tests.contract.wallet_play import TABLE, WELCOME, Play, balance

# Stakes


async def test_joining_holds_the_stake_and_leaving_gives_it_back(play: Play) -> None:
    """M1: whole, without penalty."""
    held = await play.hold(0, "A")
    assert [(leg.account, leg.amount) for leg in held.legs] == [
        (escrow_account(TABLE), 100),
        ("player:A", -100),
    ]
    assert await play.purse("A") == WELCOME - 100
    await play.void_hold(0)
    assert await play.purse("A") == WELCOME
    assert await balance(play.wallet, escrow_account(TABLE)) == 0


async def test_a_stake_is_given_back_once_whatever_the_keys(play: Play) -> None:
    """M5: a second VoidHold under another key books nothing."""
    await play.hold(0, "A")
    await play.void_hold(0)
    assert (await play.void_hold(0)).journal_id is None
    assert await play.purse("A") == WELCOME


async def test_a_hold_given_back_before_it_came_is_declined(play: Play) -> None:
    """M1, M5: nothing stays held for somebody who has left."""
    assert (await play.void_hold(0)).journal_id is None
    with pytest.raises(decline.HoldVoided):
        await play.hold(0, "A")
    assert (await play.void_hold(0)).journal_id is None


async def test_a_hold_given_back_cannot_be_taken_again(play: Play) -> None:
    """M1: a new try has a new hold id."""
    await play.hold(0, "A")
    await play.void_hold(0)
    with pytest.raises(decline.HoldVoided):
        await play.hold(0, "A")
    await play.hold(0, "A", attempt=2)


async def test_one_hold_id_is_one_hold(play: Play) -> None:
    """M5: also under two keys."""
    await play.hold(0, "A")
    with pytest.raises(decline.HoldExists):
        await play.hold(0, "A")
    assert await play.purse("A") == WELCOME - 100


async def test_nobody_stakes_more_than_they_have(play: Play) -> None:
    """M3: declined, nothing booked."""
    play.stake = WELCOME
    await play.hold(0, "A")
    with pytest.raises(decline.InsufficientFunds, match="0 chips"):
        await play.hold(1, "A")
    assert await play.purse("A") == 0


async def test_a_setting_asks_for_stake_and_penalty_at_joining(play: Play) -> None:
    """M9: the balance must cover both, only the stake is held."""
    play.stake = 8_000
    asked = play.holding(0, "A")
    with pytest.raises(decline.InsufficientFunds, match="12000"):
        await play.ask(replace(asked, rules_version=RESERVING.version))
    await play.hold(0, "A", attempt=2)


async def test_a_stake_outside_the_range_uses_no_key_up(play: Play) -> None:
    """Ç1: refused as malformed; the key may come again."""
    play.stake = 49
    with pytest.raises(StakeOutOfRange):
        await play.ask(play.holding(0, "A"), "key")
    play.stake = 50
    await play.ask(play.holding(0, "A"), "key")


async def test_an_unknown_rule_set_is_declined(play: Play) -> None:
    """M4: amounts follow the rule set that the table was opened with."""
    asked = play.holding(0, "A")
    with pytest.raises(decline.RulesUnknown, match="2031"):
        await play.ask(replace(asked, rules_version="2031"))
    await play.hold(0, "A")
    await play.hold(1, "B")
    start = play.starting(play.hold_id(0), play.hold_id(1))
    with pytest.raises(decline.RulesUnknown):
        await play.ask(replace(start, rules_version="2031"))


# Start


async def test_the_start_makes_pot_and_kasa_of_all_stakes(play: Play) -> None:
    """M2, Ç2: 90 % and 10 %."""
    started = await play.seat_and_start("ABCD")
    assert (started.pot, started.kasa) == (360, 40)
    assert await balance(play.wallet, pot_account(play.match_id)) == 360
    assert await balance(play.wallet, escrow_account(TABLE)) == 0
    assert await play.kasa() == 40


async def test_a_match_starts_with_all_or_nobody(play: Play) -> None:
    """M2: one hold missing holds up nobody else's chips."""
    await play.hold(0, "A")
    await play.hold(1, "B")
    await play.void_hold(1)
    missing = play.hold_id(1)
    with pytest.raises(decline.HoldsMissing) as caught:
        await play.ask(play.starting(play.hold_id(0), missing))
    assert caught.value.metadata == {"hold_ids": missing}
    await play.void_hold(0)
    assert await play.purses("AB") == [WELCOME, WELCOME]


async def test_a_hold_for_another_stake_or_match_does_not_count(play: Play) -> None:
    """M2: every seat pays the table's stake, for this match."""
    await play.hold(0, "A")
    play.stake = 200
    await play.hold(1, "B")
    with pytest.raises(decline.HoldsMissing) as caught:
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    assert caught.value.hold_ids == (play.hold_id(0),)
    first = play.hold_id(0)
    play.match_no = 2
    await play.hold(1, "C")
    with pytest.raises(decline.HoldsMissing):
        await play.ask(play.starting(first, play.hold_id(1)))


async def test_a_match_that_nobody_paid_for_does_not_start(play: Play) -> None:
    """M2: holds that never came are named."""
    holds = (play.hold_id(0), play.hold_id(1))
    with pytest.raises(decline.HoldsMissing) as caught:
        await play.ask(play.starting(*holds))
    assert caught.value.hold_ids == holds


async def test_one_hold_pays_one_seat(play: Play) -> None:
    """M2: the same hold on two seats is a hold missing."""
    await play.hold(0, "A")
    with pytest.raises(decline.HoldsMissing):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(0)))


async def test_one_player_cannot_sit_against_themselves(play: Play) -> None:
    """W3, M4: refused as malformed, and everything rolled back."""
    await play.hold(0, "A")
    await play.hold(1, "A")
    with pytest.raises(MalformedMatch):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    await play.void_hold(0)
    await play.void_hold(1)
    assert await play.purse("A") == WELCOME


async def test_a_match_starts_once(play: Play) -> None:
    """M5: under whatever keys; its holds cannot be given back then."""
    await play.seat_and_start("AB")
    with pytest.raises(decline.MatchStarted):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    with pytest.raises(decline.MatchStarted):
        await play.hold(1, "C", attempt=2)
    with pytest.raises(decline.HoldCommitted):
        await play.void_hold(0)


async def test_the_bot_bank_pays_for_bots(play: Play) -> None:
    """M7: it may go below zero."""
    play.mode = Mode.SOLO
    await play.seat_and_start("A---")
    assert await balance(play.wallet, HOUSE_BOT_BANK) == -300
    await tell_house(play.wallet)
    told = {"account": str(HOUSE_BOT_BANK)}
    assert REGISTRY.get_sample_value("okey_wallet_house_chips", told) == -300
