"""The house of the wallet's contract suite: its rules, and a wallet whose ledger is checked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest

from okey.errors import OkeyError
from okey.rules.rule_set import RULE_SETS, LeftoverKasa, RuleSet
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from services.wallet.books import House
from services.wallet.receipt import Receipt
from services.wallet.wallet import Wallet
from tests.contract.wallet_play import VERSION, WELCOME, Play

RESERVING = RuleSet(version="reserving", forfeit_stake_reserve=True)
KEEPING = RuleSet(version="house-keeps-it", leftover_kasa=LeftoverKasa.HOUSE)
LENIENT = RuleSet(version="lenient", abandonment_is_forfeit=False)
HOUSE = House(
    rule_sets={
        rules.version: rules for rules in (*RULE_SETS.values(), RESERVING, KEEPING, LENIENT)
    },
    current_version=VERSION,
    welcome_chips=WELCOME,
    approval_limit_chips=None,
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
