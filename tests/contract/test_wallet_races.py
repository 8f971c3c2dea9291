"""Many at once on a real PostgreSQL, through two wallets, as two replicas would."""

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle

import pytest
from sqlalchemy import Connection, make_url, text

from okey.money.account import SYSTEM_ISSUANCE, Account, player_account
from okey.money.outcome import CanakDraw, CanakWin
from okey.rules.finish import FinishKind
from okey_runtime.clock import VirtualClock
from okey_runtime.database import Isolation
from okey_runtime.postgres import postgres_engine
from services.wallet.books import Books
from services.wallet.command import SettleMatch, VoidMatch
from services.wallet.step import alone
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE, outcome_of
from tests.contract.wallet_play import WELCOME, Play, balance
from tests.fixtures.ledger import LedgerDatabase

pytestmark = pytest.mark.parametrize("ledger_urls", ["postgresql"], indirect=True)


@pytest.fixture
async def wallets(database: LedgerDatabase) -> AsyncIterator[list[Wallet]]:
    """Two wallets with connections of their own; the ledger is checked after every test."""
    other = LedgerDatabase(database.urls, connections=24)
    wallets = [Wallet(each, HOUSE, VirtualClock()) for each in (database, other)]
    yield wallets
    assert (await wallets[0].audit()).findings == ()
    await other.close()


def plays(wallets: list[Wallet], count: int, stake: int = 100) -> list[Play]:
    """Tables, each asking one of the wallets."""
    of = cycle(wallets)
    return [
        Play(next(of), table_id=f"{number:026}".replace("0", "a"), stake=stake)
        for number in range(count)
    ]


async def test_a_hundred_spend_the_same_chips(wallets: list[Wallet]) -> None:
    """M3: exactly as many succeed as there is money for."""
    tables = plays(wallets, 100, stake=150)
    answers = await asyncio.gather(*(outcome_of(play.hold(0, "A")) for play in tables))
    paid = WELCOME // 150
    assert sorted(answers) == ["INSUFFICIENT_FUNDS"] * (100 - paid) + ["OK"] * paid
    assert await tables[0].purse("A") == WELCOME - 150 * paid


async def test_refunds_race_payouts(wallets: list[Wallet]) -> None:
    """M5, M10: under keys of their own, through different wallets; one of the two is declined."""
    tables = plays(wallets, 12)
    for play in tables:
        await play.seat_and_start("AB")
    others = [Play(wallets[n % 2 - 1], table_id=play.table_id) for n, play in enumerate(tables)]
    win = CanakWin(0, FinishKind.NORMAL)
    answers = await asyncio.gather(
        *(
            outcome_of(play.ask(VoidMatch(match_id=play.match_id), "refund:" + play.table_id))
            for play in tables
        ),
        *(
            outcome_of(
                play.ask(
                    SettleMatch(match_id=play.match_id, outcome=win), f"payout:{play.table_id}"
                )
            )
            for play in others
        ),
    )
    for refund, payout in zip(answers[:12], answers[12:], strict=True):
        assert (refund, payout) in (("OK", "MATCH_VOIDED"), ("MATCH_SETTLED", "OK"))
    kasas = [await play.kasa() for play in tables]
    assert sum(await tables[0].purses("AB")) + sum(kasas) == 2 * WELCOME


async def test_an_account_is_opened_once_by_whoever_comes_first(wallets: list[Wallet]) -> None:
    """M3, M5: questions, stakes and grants at once, and one welcome grant."""
    tables = plays(wallets, 20)
    await asyncio.gather(
        *(play.hold(0, "A") for play in tables[:10]),
        *(play.grant("A", 1) for play in tables[10:]),
        *(play.purse("A") for play in tables),
    )
    assert await tables[0].purse("A") == WELCOME - 10 * 100 + 10
    assert await balance(wallets[0], SYSTEM_ISSUANCE) == -WELCOME - 10


async def test_the_same_players_at_many_tables_in_any_order(wallets: list[Wallet]) -> None:
    """M5: holds, starts and settlements of the same four people at once."""
    tables = plays(wallets, 8)
    seatings = ["ABCD", "DCBA", "BADC", "CDAB", "ACBD", "DBCA", "CABD", "BDAC"]
    await asyncio.gather(
        *(play.seat_and_start(seats) for play, seats in zip(tables, seatings, strict=True))
    )
    await asyncio.gather(*(play.settle(CanakDraw()) for play in tables))
    assert await tables[0].purses("ABCD") == [WELCOME - 80] * 4


async def test_accounts_are_locked_by_name_whatever_the_plan(
    wallets: list[Wallet], database: LedgerDatabase
) -> None:
    """M5: one reads the accounts by index and one as they lie, and neither waits in a circle.

    The accounts lie in the file against their names' order, and B's is held until both wait.
    Whoever had locked in the order of reading would hold what the other needs, and one of the two
    transactions would be ended by the server and run a second time.
    """
    names = [player_account(name) for name in "CBA"]
    for name in names:
        await wallets[0].account(name, may_open=True)
    runs: list[str] = []

    async def lock(switched_off: str) -> None:
        def work(connection: Connection) -> None:
            runs.append(switched_off)
            for kind in switched_off.split():
                connection.execute(text(f"SET LOCAL enable_{kind} = off"))
            alone(connection, Books(connection, HOUSE, 0).lock(names))

        await database.transact(work, Isolation.READ_COMMITTED)

    engine = postgres_engine(make_url(database.urls.application), connections=1)
    async with engine.connect() as holder:
        held = {"name": Account("player:B")}
        await holder.execute(text("SELECT 1 FROM accounts WHERE account = :name FOR UPDATE"), held)
        both = asyncio.gather(lock("seqscan bitmapscan"), lock("indexscan bitmapscan"))
        async with asyncio.timeout(20):
            while await database.read(waiting) < 2:
                pass
    await both
    await engine.dispose()
    assert len(runs) == 2


def waiting(connection: Connection) -> int:
    """How many locks of this database are being waited for."""
    asked = (
        "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) "
        "WHERE NOT granted AND datname = current_database()"
    )
    return int(connection.execute(text(asked)).scalar_one())
