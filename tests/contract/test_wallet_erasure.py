"""A player's account closed for good, on both databases."""

import asyncio
from collections.abc import Awaitable

import pytest
from sqlalchemy.exc import DBAPIError

from okey.money.account import HOUSE_UNCLAIMED, player_account
from okey.money.outcome import CanakDraw
from okey_runtime.clock import VirtualClock
from okey_runtime.erasable import PlayerUnknown
from services.wallet.auditing import Auditor
from services.wallet.decline import AccountClosed, AccountFrozen
from services.wallet.erasure import Closed, Erase, PlayerHolding
from services.wallet.operations import Operations
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import WELCOME, Play, balance, freeze
from tests.fixtures.ledger import LedgerDatabase


class Office:
    """Who closes accounts, beside a table at which people play."""

    def __init__(self, database: LedgerDatabase) -> None:
        clock = VirtualClock()
        auditor = Auditor(database, clock, None, None)
        self.database = database
        self.wallet = Wallet(database, HOUSE, clock)
        self.play = Play(self.wallet)
        self._operations = Operations(database, HOUSE, clock, auditor, None)

    async def erase(
        self,
        player: str,
        *,
        check_only: bool = False,
        actor: str = "op",
        allow_unknown: bool = False,
    ) -> Closed:
        asked = Erase(
            player_id=player, actor=actor, reason="asked for", allow_unknown=allow_unknown
        )
        return await self._operations.erase(asked, check_only=check_only)

    async def findings(self) -> tuple[object, ...]:
        return (await self.wallet.audit()).findings


@pytest.fixture
def office(database: LedgerDatabase) -> Office:
    return Office(database)


async def test_chips_become_unclaimed_and_the_account_stays_closed(office: Office) -> None:
    """M3: every chip is accounted for; neither a grant nor a stake goes in or out any more."""
    await office.play.grant("A", 70)
    before = await balance(office.wallet, HOUSE_UNCLAIMED)
    assert await office.erase("A") == Closed(True, WELCOME + 70)
    assert await balance(office.wallet, HOUSE_UNCLAIMED) == before + WELCOME + 70
    for work in (office.play.grant("A", 5), office.play.hold(0, "A"), office.play.reverse(1)):
        with pytest.raises(AccountClosed):
            await work
    assert (await office.wallet.account(player_account("A"), may_open=True)).closed
    assert await office.play.purse("A") == 0
    assert await office.findings() == ()


async def test_again_it_changes_nothing_whoever_asks(office: Office) -> None:
    """M5: a repeated request finds what the first one did."""
    await office.play.purse("A")
    first = await office.erase("A")
    assert await office.erase("A", actor="another") == Closed(False, first.unclaimed)
    assert await office.findings() == ()


async def test_one_that_was_never_used_gets_no_welcome_grant_any_more(office: Office) -> None:
    """M3: closed before its first use, or after it."""
    assert await office.erase("N", allow_unknown=True) == Closed(True, 0)
    assert await office.play.purse("N") == 0
    assert await office.erase("N") == Closed(False, 0)


async def test_one_that_was_never_used_is_closed_only_where_that_is_said(office: Office) -> None:
    """M3: a slip of the pen takes nobody's welcome grant, nor does asking."""
    for check_only in (True, False):
        with pytest.raises(PlayerUnknown):
            await office.erase("N", check_only=check_only)
    assert await office.play.purse("N") == WELCOME


async def test_a_check_changes_nothing(office: Office) -> None:
    """M5: it tells what would be done."""
    await office.play.purse("A")
    assert await office.erase("A", check_only=True) == Closed(True, WELCOME)
    assert await office.play.purse("A") == WELCOME
    await office.play.grant("A", 1)


async def test_who_holds_something_is_refused_until_it_is_over(office: Office) -> None:
    """M1, M9, M10: a held stake, a seat in a running match, also one that was given up."""
    await office.play.hold(0, "A")
    with pytest.raises(PlayerHolding, match="a stake held at table"):
        await office.erase("A")
    await office.play.void_hold(0)
    await office.play.hold(1, "B")
    await office.play.hold(0, "A", attempt=2)
    await office.play.ask(office.play.starting(office.play.hold_id(0, 2), office.play.hold_id(1)))
    await office.play.forfeit(0)
    for player in "AB":
        with pytest.raises(PlayerHolding, match="running match"):
            await office.erase(player)
    await office.play.settle(CanakDraw())
    assert (await office.erase("A")).changed
    assert (await office.erase("B")).changed
    assert await office.findings() == ()


async def test_an_erased_player_gets_no_part_of_a_kasa(office: Office) -> None:
    """Ç10: what is left goes to who else played to the end."""
    await office.play.seat_and_start("AB")
    await office.play.settle(CanakDraw())
    await office.erase("A")
    before = await balance(office.wallet, player_account("B"))
    await office.play.close()
    assert await balance(office.wallet, player_account("B")) == before + 20
    assert await office.findings() == ()


async def test_a_frozen_account_is_not_closed(office: Office, database: LedgerDatabase) -> None:
    """M3: what is in doubt stays where it is."""
    await office.play.purse("A")
    await freeze(database, "A")
    with pytest.raises(AccountFrozen, match="unfreeze"):
        await office.erase("A")


async def test_a_stake_and_a_closure_at_the_same_moment(office: Office) -> None:
    """M5: one of both happens, whichever comes first."""
    for number in range(8):
        player = f"P{number}"
        await office.play.purse(player)
        held, closed = await asyncio.gather(
            came_about(office.play.hold(number, player)), came_about(office.erase(player))
        )
        assert held != closed
    assert await office.findings() == ()


async def came_about(work: Awaitable[object]) -> bool:
    """Whether it was done."""
    try:
        await work
    except (AccountClosed, PlayerHolding):
        return False
    return True


async def test_the_database_itself_keeps_a_closed_account_closed(office: Office) -> None:
    """M3, M5: also from plain SQL."""
    await office.play.purse("A")
    await office.erase("A")
    for statement in (
        "UPDATE accounts SET is_closed = false WHERE account = 'player:A'",
        "UPDATE account_closures SET actor = 'somebody'",
        "DELETE FROM account_closures",
    ):
        with pytest.raises(
            DBAPIError, match=r"accounts_stay_closed|only added to|permission denied"
        ):
            await office.database.run(statement)
