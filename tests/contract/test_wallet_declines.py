"""Every reason for which the wallet declines, brought about; and amounts at their edges."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from okey.api.wallet.v1 import wallet_pb2
from okey.money.journal import MAX_CHIPS, AmountOutOfRange
from okey.money.outcome import CanakDraw
from okey.money.stake import StakeOutOfRange
from okey_runtime.clock import VirtualClock
from services.wallet.command import GrantChips, SettleMatch
from services.wallet.decline import DECLINES, Declined, MatchElsewhere, TransferIdReused
from services.wallet.erasure import Erase, close_account
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import WELCOME, Play, freeze
from tests.fixtures.ledger import LedgerDatabase

Case = Callable[[Play], Awaitable[object]]


async def insufficient_funds(play: Play) -> None:
    """Two stakes of all there is."""
    play.stake = WELCOME
    await play.hold(0, "P")
    await play.hold(1, "P")


async def hold_voided(play: Play) -> None:
    """Given back before it came."""
    await play.void_hold(0)
    await play.hold(0, "A")


async def hold_exists(play: Play) -> None:
    """One id under two keys."""
    await play.hold(0, "A")
    await play.hold(0, "A")


async def hold_committed(play: Play) -> None:
    """Given back after the start."""
    await play.seat_and_start("AB")
    await play.void_hold(0)


async def holds_missing(play: Play) -> None:
    """One seat's stake never came."""
    await play.hold(0, "A")
    await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))


async def match_not_started(play: Play) -> None:
    """A stake is held, no more."""
    await play.hold(0, "A")
    await play.settle(CanakDraw())


async def match_started(play: Play) -> None:
    """Started twice."""
    await play.seat_and_start("AB")
    await play.ask(play.starting(play.hold_id(0), play.hold_id(1)))


async def match_settled(play: Play) -> None:
    """Settled twice."""
    await play.seat_and_start("AB")
    await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()))
    await play.ask(SettleMatch(match_id=play.match_id, outcome=CanakDraw()))


async def match_voided(play: Play) -> None:
    """Settled after it was taken back."""
    await play.seat_and_start("AB")
    await play.void()
    await play.settle(CanakDraw())


async def match_elsewhere(play: Play) -> None:
    """Paid at one table, started at another."""
    await play.hold(0, "A")
    await play.hold(1, "B")
    start = play.starting(play.hold_id(0), play.hold_id(1))
    await play.ask(replace(start, table_id="elsewhere".ljust(26, "x")))


async def seat_not_owned(play: Play) -> None:
    """Given up twice."""
    await play.seat_and_start("AB")
    await play.forfeit(0)
    await play.forfeit(0)


async def table_closed(play: Play) -> None:
    """Joined after its end."""
    await play.close()
    await play.hold(0, "A")


async def table_not_idle(play: Play) -> None:
    """Closed with a stake held."""
    await play.hold(0, "A")
    await play.close()


async def rules_unknown(play: Play) -> None:
    """Rules of another time."""
    play.rules_version = "2031"
    await play.hold(0, "A")


async def journal_unknown(play: Play) -> None:
    """A number that nothing was booked under."""
    await play.reverse(999_999)


async def journal_not_reversible(play: Play) -> None:
    """A stake is voided, not reversed."""
    await play.reverse((await play.hold(0, "A")).journal_id)


async def journal_reversed(play: Play) -> None:
    """Taken back twice."""
    granted = await play.grant("A", 5)
    await play.reverse(granted.journal_id)
    await play.reverse(granted.journal_id)


async def account_frozen(play: Play) -> None:
    """Joined with a frozen account; the test freezes it."""
    await play.hold(0, "F")


async def account_closed(play: Play) -> None:
    """Joined with a closed account; the test closes it."""
    await play.hold(0, "C")


CASES: dict[str, Case] = {
    case.__name__.upper(): case
    for case in (
        insufficient_funds,
        account_frozen,
        account_closed,
        hold_voided,
        hold_exists,
        hold_committed,
        holds_missing,
        match_not_started,
        match_started,
        match_settled,
        match_voided,
        match_elsewhere,
        seat_not_owned,
        table_closed,
        table_not_idle,
        rules_unknown,
        journal_unknown,
        journal_not_reversible,
        journal_reversed,
    )
}


async def reason_of(work: Awaitable[object]) -> str:
    """Why it was declined."""
    try:
        await work
    except Declined as declined:
        return declined.reason
    return "OK"


def test_every_reason_is_named_in_the_proto_and_brought_about_here() -> None:
    """M4: callers know them all beforehand."""
    named = {
        name.removeprefix("DECLINE_REASON_") for name in dict(wallet_pb2.DeclineReason.items())
    }
    assert named - {"UNSPECIFIED"} == CASES.keys() == DECLINES.keys()


async def test_each_reason_is_given(database: LedgerDatabase) -> None:
    """M1, M2, M3, M5, M9, M10: for what it says, and nothing is booked with it."""
    wallet = Wallet(database, HOUSE, VirtualClock())
    await Play(wallet).purse("F")
    await freeze(database, "F")
    erased = Erase(player_id="C", actor="op", reason="asked for", allow_unknown=True)
    await database.transact(lambda connection: close_account(connection, erased, HOUSE, 1))
    given = {}
    for number, (reason, case) in enumerate(CASES.items()):
        play = Play(wallet, table_id=chr(97 + number) * 26)
        given[reason] = await reason_of(case(play))
    assert given == {reason: reason for reason in CASES}
    assert (await wallet.audit()).findings == ()


@pytest.fixture
async def play(database: LedgerDatabase) -> Play:
    """A table at which nothing has happened."""
    return Play(Wallet(database, HOUSE, VirtualClock()))


async def test_one_tables_match_takes_nothing_from_anothers_escrow(play: Play) -> None:
    """M2: stakes and start name the match's own table, or nothing is booked."""
    await play.hold(0, "A")
    await play.hold(1, "B")
    there = "elsewhere".ljust(26, "x")
    start = play.starting(play.hold_id(0), play.hold_id(1))
    for command in (replace(start, table_id=there), replace(play.holding(2, "C"), table_id=there)):
        with pytest.raises(MatchElsewhere, match="not of elsewhere"):
            await play.ask(command)
    assert await play.purse("C") == WELCOME
    await play.ask(start)
    assert (await play.wallet.audit()).findings == ()


@pytest.mark.parametrize("stake", [-1, 0, 49, 250_001, 2**63])
async def test_a_stake_is_within_its_range(play: Play, stake: int) -> None:
    """Ç1: a negative one, or one that overflows, makes no chips."""
    play.stake = stake
    with pytest.raises(StakeOutOfRange):
        await play.hold(0, "A")


async def test_the_least_and_the_most_stake_can_be_held(play: Play) -> None:
    """Ç1: the range includes its ends."""
    await play.grant("A", 250_000)
    for seat, stake in enumerate((50, 250_000)):
        play.stake = stake
        await play.hold(seat, "A")
    assert await play.purse("A") == WELCOME - 50


@pytest.mark.parametrize("amount", [-1, 0, MAX_CHIPS + 1, 2**63])
async def test_a_grant_is_within_its_range(play: Play, amount: int) -> None:
    """M3: nothing below one, nothing that a leg cannot carry."""
    with pytest.raises(AmountOutOfRange):
        await play.grant("A", amount)


async def test_grants_do_not_add_up_to_an_overflow(play: Play) -> None:
    """M3: a player has MAX_CHIPS at most by grants, and not one chip more."""
    await play.purse("A")
    await play.grant("A", MAX_CHIPS - WELCOME)
    with pytest.raises(AmountOutOfRange):
        await play.grant("A", 1)
    assert await play.purse("A") == MAX_CHIPS


async def test_a_grant_sent_again_is_answered_though_it_would_be_too_much_now(play: Play) -> None:
    """M5: what was booked under its key stays its answer; other content stays refused."""
    await play.purse("A")
    asked = GrantChips(player_id="A", amount=MAX_CHIPS - WELCOME, actor="op", reason="a test")
    first = await play.ask(asked, "key")
    assert await play.ask(asked, "key") == first
    with pytest.raises(TransferIdReused):
        await play.ask(replace(asked, amount=MAX_CHIPS), "key")
