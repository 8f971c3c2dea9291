"""What every wallet database does: each money event exactly once, and never a chip made or lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from okey.errors import OkeyError
from okey.money.account import (
    HOUSE_BONUS,
    HOUSE_BOT_BANK,
    HOUSE_PENALTY,
    HOUSE_RAKE,
    HOUSE_UNCLAIMED,
    SYSTEM_ISSUANCE,
    escrow_account,
    parse_account,
    pot_account,
)
from okey.money.forfeit import ForfeitCause
from okey.money.match import MalformedMatch
from okey.money.outcome import CanakDraw, CanakWin, HouseWin, KlasikDraw, KlasikWin, Outcome
from okey.money.settle import OutcomeDoesNotFit
from okey.money.stake import StakeOutOfRange
from okey.rules.finish import FinishKind
from okey.rules.rule_set import DEFAULT_RULE_SET, RuleSet
from okey.rules.variant import Mode, Variant
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from services.wallet import decline, schema
from services.wallet.audit import FindingKind
from services.wallet.books import House
from services.wallet.command import GrantChips, SettleMatch, VoidHold
from services.wallet.receipt import Receipt
from services.wallet.statement import PostingView, Span
from services.wallet.wallet import Wallet
from tests.contract.wallet_play import TABLE, VERSION, WELCOME, Play, balance, freeze
from tests.fixtures.ledger import LedgerDatabase

RESERVING = RuleSet(version="reserving", forfeit_stake_reserve=True)
LENIENT = RuleSet(version="lenient", abandonment_is_forfeit=False)
HOUSE = House(
    rule_sets={rules.version: rules for rules in (DEFAULT_RULE_SET, RESERVING, LENIENT)},
    current_version=VERSION,
    welcome_chips=WELCOME,
)


@pytest.fixture
async def clock() -> VirtualClock:
    """A clock that stands still."""
    return VirtualClock()


@pytest.fixture
async def wallet(database: Database, clock: VirtualClock) -> AsyncIterator[Wallet]:
    """A wallet whose whole ledger is checked after every test."""
    wallet = Wallet(database, HOUSE, clock)
    yield wallet
    assert (await wallet.audit()).findings == ()


@pytest.fixture
async def play(wallet: Wallet) -> Play:
    """A Çanak table of stake 100."""
    return Play(wallet)


async def outcome_of(work: Awaitable[Receipt]) -> str:
    """OK, or the reason of the refusal."""
    try:
        await work
    except OkeyError as error:
        return error.reason
    return "OK"


async def both(one: Awaitable[str], other: Awaitable[str]) -> tuple[str, str]:
    """Two at once."""
    first, second = await asyncio.gather(one, other)
    return first, second


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


# Settlement: who has how many chips after each outcome


@pytest.mark.parametrize(
    ("players", "mode", "given_up", "outcome", "purses", "kasa"),
    [
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.NORMAL), [-100, 260, -100, -100], 40),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.OKEY), [-100, 300, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.CIFT), [-100, 300, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakWin(1, FinishKind.CIFT_OKEY), [-100, 350, -100, -100], 0),
        ("ABCD", Mode.NORMAL, (), CanakDraw(), [-10, -10, -10, -10], 40),
        ("ABCD", Mode.NORMAL, (2,), CanakDraw(), [-10, -10, -150, -10], 130),
        ("ABCD", Mode.NORMAL, (2,), CanakWin(2, FinishKind.OKEY), [-100, -100, -150, -100], 40),
        ("ABCD", Mode.ESLI, (), CanakWin(1, FinishKind.NORMAL), [-100, 80, -100, 80], 40),
        ("ABCD", Mode.ESLI, (3,), CanakWin(3, FinishKind.OKEY), [-100, 300, -100, -150], 0),
        ("ABCD", Mode.ESLI, (1, 3), CanakWin(3, FinishKind.OKEY), [-100, -150, -100, -150], 40),
        ("A-", Mode.SOLO, (), CanakWin(0, FinishKind.OKEY), [100], 0),
        ("A-", Mode.SOLO, (), CanakWin(1, FinishKind.OKEY), [-100], 20),
        ("A-", Mode.SOLO, (0,), HouseWin(), [-150], 20),
        ("AB", Mode.NORMAL, (0, 1), HouseWin(), [-150, -150], 20),
    ],
)
async def test_canak_pays(
    play: Play,
    players: str,
    mode: Mode,
    given_up: tuple[int, ...],
    outcome: Outcome,
    purses: list[int],
    kasa: int,
) -> None:
    """Ç3, Ç4, Ç5, Ç7, Ç11, M6, M8, M9: chips won or lost by everyone, and what the kasa keeps."""
    play.mode = mode
    await play.seat_and_start(players)
    for seat in given_up:
        await play.forfeit(seat)
    settled = await play.settle(outcome)
    people = players.replace("-", "")
    assert [purse - WELCOME for purse in await play.purses(people)] == purses
    assert settled.kasa == await play.kasa() == kasa


@pytest.mark.parametrize(
    ("given_up", "outcome", "purses", "rake", "bank"),
    [
        ((), KlasikWin(2), [-100, -100, 260, -100], 40, 0),
        ((2,), KlasikWin(2), [-100, -100, -150, -100], 40, 360),
        ((), KlasikDraw((0, 1, 3)), [33, 33, -100, 33], 0, 0),
        ((0, 1, 2), KlasikDraw((0, 3)), [-150, -150, -150, 100], 0, 200),
        ((0, 1, 2, 3), HouseWin(), [-150, -150, -150, -150], 40, 360),
    ],
)
async def test_klasik_pays(
    play: Play,
    given_up: tuple[int, ...],
    outcome: Outcome,
    purses: list[int],
    rake: int,
    bank: int,
) -> None:
    """K7, K9, K10, M8, M9: rake at settlement, none in a draw; no kasa."""
    play.variant = Variant.KLASIK
    started = await play.seat_and_start("ABCD")
    assert (started.pot, started.kasa) == (400, 0)
    for seat in given_up:
        await play.forfeit(seat)
    await play.settle(outcome)
    assert [purse - WELCOME for purse in await play.purses("ABCD")] == purses
    assert await balance(play.wallet, HOUSE_RAKE) == rake
    assert await balance(play.wallet, HOUSE_BOT_BANK) == bank
    await play.close()


async def test_the_kasa_grows_over_a_nachspiel_until_it_is_won(play: Play) -> None:
    """Ç3, Ç4, Ç8: who comes anew plays for the grown kasa."""
    await play.seat_and_start("AB")
    await play.settle(CanakWin(0, FinishKind.NORMAL))
    await play.seat_and_start("AC")
    await play.settle(CanakDraw())
    started = await play.seat_and_start("CB")
    assert started.kasa == 60
    await play.settle(CanakWin(1, FinishKind.CIFT_OKEY))
    assert await play.kasa() == 0
    assert await balance(play.wallet, HOUSE_BONUS) == -50
    await play.close()


async def test_a_match_is_settled_once_whatever_the_keys(play: Play) -> None:
    """M5: the pot is empty after the first."""
    await play.seat_and_start("AB")
    asked = SettleMatch(match_id=play.match_id, outcome=CanakWin(0, FinishKind.NORMAL))
    await play.ask(asked)
    with pytest.raises(decline.MatchSettled):
        await play.ask(asked)
    with pytest.raises(decline.MatchSettled):
        await play.void()
    with pytest.raises(decline.MatchSettled):
        await play.forfeit(0)
    with pytest.raises(decline.MatchSettled):
        await play.hold(1, "C", attempt=2)
    with pytest.raises(decline.MatchSettled):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    assert await play.purses("AB") == [WELCOME + 80, WELCOME - 100]


async def test_an_outcome_that_cannot_be_leaves_the_match_running(play: Play) -> None:
    """M4: refused as malformed; the right outcome may come under the same key."""
    await play.seat_and_start("AB")
    with pytest.raises(OutcomeDoesNotFit):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=KlasikWin(0)), "key")
    nobody = CanakWin(3, FinishKind.NORMAL)
    with pytest.raises(MalformedMatch):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=nobody), "key")
    await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()), "key")


@pytest.mark.parametrize("is_held", [False, True])
async def test_what_has_not_started_cannot_end(play: Play, is_held: bool) -> None:
    """M2: no pot, no payout, no giving up."""
    if is_held:
        await play.hold(0, "A")
    with pytest.raises(decline.MatchNotStarted):
        await play.forfeit(0)
    with pytest.raises(decline.MatchNotStarted):
        await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()))


# Giving up


async def test_giving_up_costs_half_the_stake(play: Play) -> None:
    """M9: to the house, at once, once a seat."""
    await play.seat_and_start("AB")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall) == (50, 0)
    assert await balance(play.wallet, HOUSE_PENALTY) == 50
    with pytest.raises(decline.SeatNotOwned):
        await play.forfeit(0)
    assert await play.purse("A") == WELCOME - 150


@pytest.mark.parametrize(("left", "penalty"), [(0, 0), (30, 30)])
async def test_who_has_too_little_pays_what_there_is(play: Play, left: int, penalty: int) -> None:
    """M9: the shortfall is recorded, never a debt."""
    play.stake = WELCOME - left
    await play.seat_and_start("AB")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall) == (penalty, play.stake // 2 - penalty)
    assert await play.purse("A") == 0


async def test_an_abandoned_seat_is_the_houses_even_where_it_costs_nothing(play: Play) -> None:
    """U9, Ç11: what it wins is the bot bank's, and the kasa stays."""
    play.rules_version = LENIENT.version
    await play.seat_and_start("AB")
    cost = await play.forfeit(0, ForfeitCause.ABANDONED)
    assert (cost.penalty, cost.shortfall, cost.journal_id) == (0, 0, None)
    assert (await play.settle(CanakWin(0, FinishKind.OKEY))).kasa == 20
    assert await play.purses("AB") == [WELCOME - 100, WELCOME - 100]
    assert await balance(play.wallet, HOUSE_BOT_BANK) == 180


async def test_a_bots_seat_cannot_be_given_up(play: Play) -> None:
    """M9: nor one that does not exist."""
    play.mode = Mode.SOLO
    await play.seat_and_start("A-")
    with pytest.raises(decline.SeatNotOwned):
        await play.forfeit(1)
    with pytest.raises(MalformedMatch):
        await play.forfeit(2)


# Voiding


async def test_a_voided_match_gives_every_stake_back(play: Play) -> None:
    """M10: this match's kasa share out, the older kasa stays, penalties stand."""
    await play.seat_and_start("AB")
    await play.settle(CanakDraw())
    await play.seat_and_start("AB")
    await play.forfeit(1)
    voided = await play.void()
    assert voided.kasa == await play.kasa() == 20
    assert await play.purses("AB") == [WELCOME - 10, WELCOME - 10 - 50]
    with pytest.raises(decline.MatchVoided):
        await play.void()
    with pytest.raises(decline.MatchVoided):
        await play.settle(CanakDraw())


async def test_voiding_before_the_start_gives_back_all_holds(play: Play) -> None:
    """M10, M1: and the match cannot start any more."""
    await play.hold(0, "A")
    await play.hold(1, "B")
    await play.void_hold(1)
    await play.hold(1, "C", attempt=2)
    await play.void()
    assert await play.purses("ABC") == [WELCOME] * 3
    assert (await play.void_hold(0)).journal_id is None
    with pytest.raises(decline.MatchVoided):
        await play.hold(0, "A", attempt=2)


async def test_voiding_a_match_whose_holds_all_went_back_books_nothing(play: Play) -> None:
    """M10: nothing is held, nothing is given."""
    await play.hold(0, "A")
    await play.void_hold(0)
    assert (await play.void()).journal_id is None


async def test_voiding_a_match_that_was_never_seen_is_declined(play: Play) -> None:
    """M10: there is nothing to take back."""
    with pytest.raises(decline.MatchNotStarted):
        await play.void()


# Closing


async def test_what_is_left_in_the_kasa_is_unclaimed(play: Play) -> None:
    """Ç10: and a closed table takes no stakes."""
    await play.seat_and_start("AB")
    await play.settle(CanakWin(0, FinishKind.NORMAL))
    await play.close()
    assert await play.kasa() == 0
    assert await balance(play.wallet, HOUSE_UNCLAIMED) == 20
    with pytest.raises(decline.TableClosed):
        await play.hold(0, "A")
    with pytest.raises(decline.TableClosed):
        await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))
    with pytest.raises(decline.TableClosed):
        await play.close()


async def test_a_table_without_a_kasa_closes_without_a_journal(play: Play) -> None:
    """Ç10: a table that nobody ever paid at, too."""
    assert (await play.close()).journal_id is None


async def test_a_table_with_stakes_or_a_match_does_not_close(play: Play) -> None:
    """Ç10: chips come back first."""
    await play.hold(0, "A")
    with pytest.raises(decline.TableNotIdle):
        await play.close()
    await play.void_hold(0)
    play.match_no = 2
    await play.seat_and_start("AB")
    with pytest.raises(decline.TableNotIdle):
        await play.close()


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


# Operators


async def test_chips_come_from_the_issuance(play: Play) -> None:
    """M3: a welcome grant and an operator's; together with the purse they are zero."""
    await play.grant("A", 500)
    assert await play.purse("A") == WELCOME + 500
    assert await balance(play.wallet, SYSTEM_ISSUANCE) == -WELCOME - 500


async def test_a_grant_is_taken_back_by_a_new_journal_once(play: Play) -> None:
    """M3: history is never edited."""
    granted = await play.grant("A", 500)
    back = await play.reverse(granted.journal_id)
    assert [leg.amount for leg in back.legs] == [-500, 500]
    assert await play.purse("A") == WELCOME
    with pytest.raises(decline.JournalReversed):
        await play.reverse(granted.journal_id)


async def test_two_who_take_a_grant_back_at_once(play: Play) -> None:
    """M5: one of them is declined."""
    granted = await play.grant("A", 500)
    answers = await asyncio.gather(
        *(outcome_of(play.reverse(granted.journal_id)) for _ in range(4))
    )
    assert sorted(answers) == ["JOURNAL_REVERSED"] * 3 + ["OK"]


async def test_chips_that_are_gone_cannot_be_taken_back(play: Play) -> None:
    """M3: not below zero."""
    granted = await play.grant("A", 500)
    play.stake = WELCOME + 100
    await play.hold(0, "A")
    with pytest.raises(decline.InsufficientFunds):
        await play.reverse(granted.journal_id)


async def test_a_penalty_can_be_taken_back(play: Play) -> None:
    """M9: by an operator."""
    await play.seat_and_start("AB")
    await play.reverse((await play.forfeit(0)).journal_id)
    assert await play.purse("A") == WELCOME - 100
    assert await balance(play.wallet, HOUSE_PENALTY) == 0


async def test_stakes_and_payouts_are_not_reversed_behind_their_states(play: Play) -> None:
    """M5: a hold is voided, a match is voided; a reversal is never reversed."""
    held = await play.hold(0, "A")
    with pytest.raises(decline.JournalNotReversible, match="hold"):
        await play.reverse(held.journal_id)
    back = await play.reverse((await play.grant("A", 5)).journal_id)
    with pytest.raises(decline.JournalNotReversible):
        await play.reverse(back.journal_id)
    with pytest.raises(decline.JournalUnknown):
        await play.reverse(999_999)


async def test_a_frozen_account_receives_but_gives_nothing(play: Play, database: Database) -> None:
    """M3, M9: a penalty becomes shortfall; a payout and a refund still come."""
    await play.seat_and_start("AB")
    await freeze(database, "A")
    with pytest.raises(decline.AccountFrozen):
        await Play(play.wallet, table_id="f" * 26).hold(0, "A")
    cost = await play.forfeit(0)
    assert (cost.penalty, cost.shortfall, cost.journal_id) == (0, 50, None)
    await play.void()
    assert await play.purse("A") == WELCOME


# Reading


async def test_an_account_that_was_never_used_is_not_found(wallet: Wallet) -> None:
    """M3: asking about a pot does not open one, nor does an operator's question."""
    for name in ("pot:x-1", "player:A"):
        with pytest.raises(decline.AccountNotFound, match=name):
            await wallet.account(parse_account(name), may_open=False)


async def test_postings_come_in_pages_with_running_balances(play: Play) -> None:
    """M5: oldest first, none twice, none left out; for shared accounts as well."""
    for amount in (1, 2, 3, 4):
        await play.grant("A", amount)
    found: list[PostingView] = []
    after = 0
    while True:
        page = await play.wallet.postings(parse_account("player:A"), after, 2)
        found += page.postings
        if page.next_after is None:
            break
        after = page.next_after
    assert [posting.amount for posting in found] == [WELCOME, 1, 2, 3, 4]
    assert [p.balance_after - WELCOME for p in found] == [0, 1, 3, 6, 10]
    assert found[1].reason == "a test"
    assert {posting.rules_version for posting in found} == {VERSION}
    issued = await play.wallet.postings(SYSTEM_ISSUANCE, found[2].journal_id, 10)
    assert [p.balance_after + WELCOME for p in issued.postings] == [-6, -10]


async def test_a_statement_spans_a_time(play: Play, clock: VirtualClock) -> None:
    """M5: opening balance and postings of the span give the closing balance."""
    start_ms = clock.now_ms()
    await play.grant("A", 1)
    clock.advance_ms(1000)
    await play.grant("A", 2)
    clock.advance_ms(1000)
    await play.grant("A", 4)
    account = parse_account("player:A")
    span = Span(start_ms + 1000, start_ms + 2000)
    found = [posting async for posting in play.wallet.statement(account, span)]
    assert [(posting.amount, posting.balance_after - WELCOME) for posting in found] == [(2, 3)]
    issued = [posting async for posting in play.wallet.statement(SYSTEM_ISSUANCE, span)]
    assert [posting.balance_after for posting in issued] == [-WELCOME - 3]
    assert await play.wallet.balance_at(account, start_ms + 1000) == WELCOME + 1
    assert await play.wallet.balance_at(account, start_ms + 2000) == WELCOME + 3


# The schema


async def test_the_migrations_make_the_schema_that_queries_name(database: Database) -> None:
    """M5: no difference between the two."""
    known = schema.metadata.tables

    def differences(connection: Connection) -> list[object]:
        ours = {"include_name": lambda name, kind, _: kind != "table" or name in known}
        context = MigrationContext.configure(connection, opts=ours)
        return list(compare_metadata(context, schema.metadata))

    assert await database.read(differences) == []


# The audit finds


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        (
            "INSERT INTO postings (journal_id, account, amount) VALUES (1, 'house:rake', 5)",
            {FindingKind.UNBALANCED_JOURNAL, FindingKind.LEDGER_UNBALANCED},
        ),
        (
            "UPDATE accounts SET balance = balance + 1 WHERE account = 'player:A'",
            {FindingKind.BALANCE_DIFFERS},
        ),
        (
            "UPDATE accounts SET version = version + 1 WHERE account = 'player:A'",
            {FindingKind.VERSION_GAP},
        ),
        (
            "UPDATE holds SET state = 'voided' WHERE state = 'held'",
            {FindingKind.ESCROW_DIFFERS},
        ),
        (
            "UPDATE matches SET state = 'settled' WHERE state = 'started'",
            {FindingKind.POT_DIFFERS},
        ),
        ("UPDATE tables SET is_closed = (1 = 1)", {FindingKind.KASA_LEFT}),
    ],
)
async def test_the_audit_finds(
    database: LedgerDatabase, statement: str, kinds: set[FindingKind]
) -> None:
    """M3, M5: every kind of wrong is a finding, also one that only a server's owner can do."""
    wallet = Wallet(database, HOUSE, VirtualClock())
    play = Play(wallet)
    await play.seat_and_start("AB")
    play.match_no = 2
    await play.hold(0, "C")
    before = await wallet.audit()
    assert (before.findings, before.journal_count) == ((), 7)
    await database.tamper(statement)
    assert {finding.kind for finding in (await wallet.audit()).findings} == kinds
