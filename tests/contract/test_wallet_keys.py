"""Exactly once on every wallet database: a key books once, and of two that race one gets in."""

import asyncio

import pytest

from okey.money.account import (
    SYSTEM_ISSUANCE,
    pot_account,
)
from okey.money.outcome import CanakDraw, CanakWin, HouseWin
from okey.rules.finish import FinishKind
from services.wallet import decline
from services.wallet.command import GrantChips, SettleMatch, VoidHold
from services.wallet.wallet import KeyContended, Wallet
from tests.contract.wallet_house import both, outcome_of
from tests.contract.wallet_play import WELCOME, Play, balance

# Exactly once


async def test_the_same_key_gets_the_same_answer(play: Play) -> None:
    """M5: and nothing is booked twice."""
    asked = play.holding(0, "A")
    first = await play.ask(asked, "key")
    assert await play.ask(asked, "key") == first
    await play.hold(1, "B")
    start = play.starting(play.hold_id(0), play.hold_id(1))
    started = await play.ask(start, "start")
    assert await play.ask(start, "start") == started
    settle = SettleMatch(match_id=play.match_id, outcome=CanakWin(0, FinishKind.CIFT_OKEY))
    settled = await play.ask(settle, "settle")
    assert await play.ask(settle, "settle") == settled
    grant = GrantChips(player_id="B", amount=7, actor="op", reason="a test")
    granted = await play.ask(grant, "grant")
    assert await play.ask(grant, "grant") == granted
    assert await play.purses("AB") == [WELCOME + 150, WELCOME - 93]


async def test_a_decline_is_final_for_its_key(play: Play) -> None:
    """M5: also when the chips have come meanwhile; a new key is a new try."""
    play.stake = WELCOME + 1
    asked = play.holding(0, "A")
    with pytest.raises(decline.InsufficientFunds) as first:
        await play.ask(asked, "key")
    await play.grant("A", 1)
    with pytest.raises(decline.InsufficientFunds) as second:
        await play.ask(asked, "key")
    assert str(first.value) == str(second.value)
    await play.ask(asked, "another key")


async def test_a_replayed_decline_names_the_same_holds(play: Play) -> None:
    """M2, M5: the metadata is kept too."""
    asked = play.starting(play.hold_id(0), play.hold_id(1))
    for _ in range(2):
        with pytest.raises(decline.HoldsMissing) as caught:
            await play.ask(asked, "key")
        assert caught.value.hold_ids == (play.hold_id(0), play.hold_id(1))


async def test_a_key_with_other_content_is_refused(play: Play) -> None:
    """M5: the first request stands, whether it was booked or declined."""
    await play.ask(play.holding(0, "A"), "booked")
    with pytest.raises(decline.TransferIdReused, match="booked"):
        await play.ask(play.holding(0, "B"), "booked")
    await play.ask(VoidHold(hold_id=play.hold_id(0)), "void")
    with pytest.raises(decline.TransferIdReused):
        await play.ask(VoidHold(hold_id=play.hold_id(1)), "void")
    with pytest.raises(decline.HoldVoided):
        await play.ask(play.holding(0, "A"), "declined")
    with pytest.raises(decline.TransferIdReused):
        await play.ask(play.holding(1, "A"), "declined")
    assert await play.purses("AB") == [WELCOME, WELCOME]


async def test_outcomes_without_fields_are_still_different_content(play: Play) -> None:
    """M5: a draw and a house win say different things."""
    await play.seat_and_start("AB")
    await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()), "key")
    with pytest.raises(decline.TransferIdReused):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=HouseWin()), "key")


# Races


async def test_one_key_sent_many_times_at_once_books_once(play: Play) -> None:
    """M5: everyone gets the one receipt."""
    asked = play.holding(0, "A")
    receipts = await asyncio.gather(*(play.ask(asked, "key") for _ in range(12)))
    assert len({receipt.journal_id for receipt in receipts}) == 1
    assert await play.purse("A") == WELCOME - 100


async def test_a_refund_racing_a_payout_lets_one_through(play: Play) -> None:
    """M5, M10: under two keys; the other is declined."""
    for _ in range(6):
        before = sum(await play.purses("AB"))
        await play.seat_and_start("AB")
        match_id = play.match_id
        answers = await asyncio.gather(
            outcome_of(play.void()),
            outcome_of(play.settle(CanakWin(0, FinishKind.OKEY))),
        )
        assert sorted(answers) in (["MATCH_VOIDED", "OK"], ["MATCH_SETTLED", "OK"])
        assert await balance(play.wallet, pot_account(match_id)) == 0
        assert sum(await play.purses("AB")) == before
        play.match_no = int(match_id.rpartition("-")[2]) + 1


async def test_giving_a_stake_back_racing_the_start_lets_one_through(play: Play) -> None:
    """M1, M2: a stake is refunded or in the pot, never both."""
    for _ in range(6):
        await play.hold(0, "A")
        await play.hold(1, "B")
        answers = await both(
            outcome_of(play.void_hold(0)),
            outcome_of(play.ask(play.starting(play.hold_id(0), play.hold_id(1)))),
        )
        assert answers in (("OK", "HOLDS_MISSING"), ("HOLD_COMMITTED", "OK"))
        await play.void()
        assert await play.purses("AB") == [WELCOME, WELCOME]
        play.match_no += 1


async def test_two_holds_racing_for_the_same_chips(wallet: Wallet) -> None:
    """M3: as many succeed as there is money for; the purse never goes below zero."""
    plays = [Play(wallet, table_id=chr(97 + each) * 26, stake=3_000) for each in range(8)]
    answers = await asyncio.gather(*(outcome_of(play.hold(0, "A")) for play in plays))
    assert sorted(answers) == ["INSUFFICIENT_FUNDS"] * 5 + ["OK"] * 3
    assert await plays[0].purse("A") == WELCOME - 9_000


async def test_an_account_is_opened_and_welcomed_once(wallet: Wallet) -> None:
    """M3, M5: however many first uses there are at once."""
    plays = [Play(wallet, table_id=chr(97 + each) * 26) for each in range(6)]
    await asyncio.gather(*(play.hold(0, "A") for play in plays), *(p.purse("A") for p in plays))
    assert await plays[0].purse("A") == WELCOME - 600
    assert await balance(wallet, SYSTEM_ISSUANCE) == -WELCOME


async def test_tables_that_share_players_do_not_block_each_other(wallet: Wallet) -> None:
    """M5: accounts are locked in one order, so nobody waits in a circle."""
    plays = [Play(wallet, table_id=chr(97 + each) * 26) for each in range(6)]
    seatings = ["ABCD", "DCBA", "BADC", "CDAB", "ACBD", "DBCA"]
    await asyncio.gather(*(p.seat_and_start(s) for p, s in zip(plays, seatings, strict=True)))
    await asyncio.gather(*(p.settle(CanakDraw()) for p in plays))
    assert await plays[0].purses("ABCD") == [WELCOME - 60] * 4


async def test_a_table_closing_while_someone_joins(wallet: Wallet) -> None:
    """Ç10, M1: the stake is held and the table open, or neither."""
    for each in range(10):
        play = Play(wallet, table_id=chr(97 + each) * 26)
        await play.hold(0, "A")
        await play.void_hold(0)
        answers = await both(outcome_of(play.close()), outcome_of(play.hold(1, "A")))
        assert answers in (("OK", "TABLE_CLOSED"), ("TABLE_NOT_IDLE", "OK"))


async def test_a_key_that_is_taken_at_every_try_is_to_be_sent_again(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M5: its row is there when ours goes in, and rolled back before it can be read."""

    async def taken(*_: object) -> bool:
        return False

    with monkeypatch.context() as others:
        others.setattr("services.wallet.wallet.remember", taken)
        with pytest.raises(KeyContended) as refused:
            await play.ask(play.holding(0, "A"), "key")
    assert refused.value.reason == "KEY_CONTENDED"
    await play.ask(play.holding(0, "A"), "key")
