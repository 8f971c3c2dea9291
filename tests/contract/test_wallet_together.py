"""Many at once through one wallet: they share transactions, and nobody notices the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlalchemy import make_url, text

from okey.money.outcome import CanakDraw, CanakWin
from okey.rules.finish import FinishKind
from okey_runtime import failpoints
from okey_runtime.clock import VirtualClock
from okey_runtime.config import Environment
from okey_runtime.database import Isolation, Work
from okey_runtime.postgres import postgres_engine
from okey_runtime.storage import T
from services.wallet.command import SettleMatch
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE, outcome_of
from tests.contract.wallet_play import WELCOME, Play
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls

TABLES = 16
WIN = CanakWin(0, FinishKind.NORMAL)


class CountingDatabase(LedgerDatabase):
    """Counts the transactions that write."""

    transactions = 0

    async def transact(self, work: Work[T], isolation: Isolation = Isolation.SERIALIZABLE) -> T:
        self.transactions += 1
        return await super().transact(work, isolation)


@pytest.fixture
async def counting(
    database: LedgerDatabase, ledger_urls: LedgerUrls
) -> AsyncIterator[CountingDatabase]:
    """The empty ledger of the test."""
    counting = CountingDatabase(ledger_urls)
    yield counting
    await counting.close()


@pytest.fixture
async def tables(counting: CountingDatabase) -> AsyncIterator[list[Play]]:
    """Tables of one wallet, at each of which two are playing; the ledger is checked afterwards."""
    wallet = Wallet(counting, HOUSE, VirtualClock())
    plays = [Play(wallet, table_id=f"{chr(97 + number) * 26}") for number in range(TABLES)]
    for play in plays:
        await play.seat_and_start(f"{play.table_id[0]}Z")
    counting.transactions = 0
    yield plays
    assert (await wallet.audit()).findings == ()


def settling(play: Play) -> SettleMatch:
    """The command."""
    return SettleMatch(match_id=play.match_id, outcome=WIN)


async def test_settlements_at_once_share_transactions(
    tables: list[Play], counting: CountingDatabase
) -> None:
    """M5: each is booked once, in far fewer transactions, and tells of its own journal."""
    receipts = await asyncio.gather(*(play.ask(settling(play)) for play in tables))
    assert counting.transactions <= 3
    assert len({receipt.journal_id for receipt in receipts}) == TABLES
    for play, receipt in zip(tables, receipts, strict=True):
        assert f"pot:{play.match_id}" in [leg.account for leg in receipt.legs]
        assert await play.purse(play.table_id[0]) == WELCOME - 100 + 180
    assert await tables[0].purse("Z") == WELCOME - 100 * TABLES


async def test_a_decline_is_of_nobody_else(tables: list[Play]) -> None:
    """M5: who settles twice is declined for good; the others of the transaction are booked."""
    await tables[3].ask(settling(tables[3]))
    asked = [play.ask(settling(play), f"at-once:{play.table_id}") for play in tables]
    answers = await asyncio.gather(*map(outcome_of, asked))
    assert answers == ["OK"] * 3 + ["MATCH_SETTLED"] + ["OK"] * (TABLES - 4)
    again = [play.ask(settling(play), f"at-once:{play.table_id}") for play in tables]
    assert await asyncio.gather(*map(outcome_of, again)) == answers


async def test_a_bug_in_one_is_of_nobody_else(tables: list[Play]) -> None:
    """M5: what one command breaks on, whatever it is, only its caller is told."""

    def strike(point: str, about: object) -> None:
        if point == "wallet.before_commit" and about == settling(tables[3]):
            raise ZeroDivisionError

    with failpoints.armed(Environment.TEST, strike):
        answers = await asyncio.gather(
            *(play.ask(settling(play)) for play in tables), return_exceptions=True
        )
    assert [place for place, each in enumerate(answers) if isinstance(each, Exception)] == [3]
    assert isinstance(answers[3], ZeroDivisionError)
    await tables[3].ask(settling(tables[3]))


@asynccontextmanager
async def locked(urls: LedgerUrls, players: str) -> AsyncIterator[None]:
    """Somebody else holds the accounts of these players."""
    accounts = [f"player:{player}" for player in players]
    engine = postgres_engine(make_url(urls.application), 1)
    try:
        async with engine.connect() as connection:
            lock = text("SELECT 1 FROM accounts WHERE account = ANY(:accounts) FOR UPDATE")
            await connection.execute(lock, {"accounts": accounts})
            yield
    finally:
        await engine.dispose()


@pytest.mark.parametrize("ledger_urls", ["postgresql"], indirect=True)
async def test_who_waits_for_a_lock_holds_nobody_up(
    counting: CountingDatabase, ledger_urls: LedgerUrls
) -> None:
    """M5: neither two who have a lane each, nor one who shares; afterwards they are booked too."""
    wallet = Wallet(counting, HOUSE, VirtualClock())
    tables = [Play(wallet, table_id=f"{chr(97 + number) * 26}") for number in range(TABLES)]
    for play in tables:
        await play.seat_and_start(f"{play.table_id[0]}{play.table_id[0].upper()}")
    [first, second, third], others = tables[:3], tables[3:]
    has_begun = {settling(play): asyncio.Event() for play in (first, second)}

    def note(point: str, about: object) -> None:
        if point == "wallet.begun" and isinstance(about, SettleMatch) and about in has_begun:
            has_begun[about].set()

    async with asyncio.timeout(120):
        async with locked(ledger_urls, "abc"):
            held_up = []
            with failpoints.armed(Environment.TEST, note):
                for play in (first, second):
                    held_up.append(asyncio.create_task(play.ask(settling(play))))
                    await has_begun[settling(play)].wait()
            held_up.append(asyncio.create_task(third.ask(settling(third))))
            await asyncio.gather(*(play.ask(settling(play)) for play in others))
            assert not any(task.done() for task in held_up)
        await asyncio.gather(*held_up)
    for play in tables:
        assert await play.purse(play.table_id[0]) == WELCOME - 100 + 180
    assert (await wallet.audit()).findings == ()


async def test_one_match_is_settled_once_however_many_ask_at_once(tables: list[Play]) -> None:
    """M5: under one key all get the same answer, under many all but one are declined."""
    first, second = tables[:2]
    receipts = await asyncio.gather(*(first.ask(settling(first), "key") for _ in range(8)))
    assert {receipt.journal_id for receipt in receipts} == {receipts[0].journal_id}
    asked = [second.ask(settling(second), f"key-{number}") for number in range(8)]
    answers = await asyncio.gather(*map(outcome_of, asked))
    assert sorted(answers) == ["MATCH_SETTLED"] * 7 + ["OK"]


async def test_a_key_used_for_two_things_at_once(tables: list[Play]) -> None:
    """M5: one is booked, the other is told that the key was used."""
    asked = [play.ask(settling(play), "key") for play in tables[:4]]
    answers = await asyncio.gather(*map(outcome_of, asked))
    assert sorted(answers) == ["OK"] + ["TRANSFER_ID_REUSED"] * 3


async def test_a_hold_id_used_at_two_tables_at_once(tables: list[Play]) -> None:
    """M5: one hold is held."""
    await asyncio.gather(*(play.settle(CanakDraw()) for play in tables))
    asked = [play.ask(replace(play.holding(0, "Z"), hold_id="one-for-all")) for play in tables]
    answers = await asyncio.gather(*map(outcome_of, asked))
    assert sorted(answers) == ["HOLD_EXISTS"] * (TABLES - 1) + ["OK"]


async def test_the_same_chips_are_spent_once(tables: list[Play]) -> None:
    """M3: stakes of one person at many tables in one transaction; as many as there is money for."""
    await asyncio.gather(*(play.settle(CanakDraw()) for play in tables))
    chips = await tables[0].purse("Z")
    for play in tables:
        play.stake = 1_500
    answers = await asyncio.gather(*(outcome_of(play.hold(0, "Z")) for play in tables))
    paid = chips // 1_500
    assert sorted(answers) == ["INSUFFICIENT_FUNDS"] * (TABLES - paid) + ["OK"] * paid
    assert await tables[0].purse("Z") == chips - 1_500 * paid


async def test_new_tables_and_new_players_at_once(counting: CountingDatabase) -> None:
    """M3, M5: first use of tables and accounts; everybody is welcomed once."""
    wallet = Wallet(counting, HOUSE, VirtualClock())
    plays = [Play(wallet, table_id=f"{chr(97 + number) * 26}") for number in range(TABLES)]
    for seat, player in enumerate("AB"):
        holds = [play.hold(seat, f"{player}{play.table_id[: 1 + seat]}") for play in plays]
        assert await asyncio.gather(*map(outcome_of, holds)) == ["OK"] * TABLES
    assert [await plays[0].purse(player) for player in ("Aa", "Bbb")] == [WELCOME - 100] * 2
    assert (await wallet.audit()).findings == ()
