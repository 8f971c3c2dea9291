"""`make bench`, the audit: postings a second of its parts on PostgreSQL, beside a bare sum of all.

The ledger is made in the database itself, past the seals, of journals with two and four legs; every
check finds it sound. The figure is the best of the passes: what else runs on the machine only slows
it down.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from joserfc.jwk import OKPKey
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select

from okey_runtime.clock import SystemClock
from okey_runtime.database import Database, Isolation
from okey_runtime.logging import configure_logging
from services.wallet.audit import audit
from services.wallet.chain import ChainKeys
from services.wallet.chain_audit import audit_chain
from services.wallet.finding import tell_nobody
from services.wallet.schema import postings
from services.wallet.sealer import Sealer
from tests.fixtures.ledger import make_ledger
from tests.fixtures.postgres import PostgresServer

JOURNALS: Final = 300_000
PASSES: Final = 3
NEEDED: Final = 500_000

# A stake that somebody is granted, and then shared out, again and again.
_LEGS: Final = """
SELECT number AS journal_id, leg.account, leg.amount
FROM generate_series(1, {journals}) AS number, LATERAL (VALUES
    (1, 'system:issuance', -100), (1, 'player:r' || (number + 1) / 2 % 3000, 100),
    (0, 'player:r' || number / 2 % 3000, -100), (0, 'player:p' || number % 5000, 60),
    (0, 'player:q' || number % 7000, 30), (0, 'house:rake', 10)
) AS leg (parity, account, amount)
WHERE leg.parity = number % 2
"""
_JOURNALS: Final = f"""
INSERT INTO journals (kind, rules_version, booked_ms, actor, reason, legs)
SELECT 'grant', '2026.11', 1700000000000 + journal_id, 'bench', 'a journal of the bench',
    json_object_agg(account, amount ORDER BY account)::text
FROM ({_LEGS}) AS legs GROUP BY journal_id ORDER BY journal_id
"""
_POSTINGS: Final = f"""
INSERT INTO postings (journal_id, account, amount, balance_after, version)
SELECT journal_id, account, amount,
    CASE WHEN account LIKE 'player:%%' THEN sum(amount) OVER own END,
    CASE WHEN account LIKE 'player:%%' THEN row_number() OVER own END
FROM ({_LEGS}) AS legs
WINDOW own AS (PARTITION BY account ORDER BY journal_id) ORDER BY journal_id, account
"""
_ACCOUNTS: Final = """
INSERT INTO accounts (account, balance, version, frozen)
SELECT account, sum(amount), count(*), false FROM postings
WHERE version IS NOT NULL GROUP BY account
"""


def fill(connection: Connection) -> None:
    """Make the ledger."""
    connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
    for statement in (_JOURNALS, _POSTINGS, _ACCOUNTS, "ANALYZE"):
        connection.exec_driver_sql(statement.format(journals=JOURNALS))


def measure(connection: Connection, keys: ChainKeys, now_ms: int) -> dict[str, float]:
    """Seconds of each part. Raises ``AssertionError`` if one finds anything."""

    def bare() -> bool:
        connection.execute(select(func.sum(postings.c.amount), func.count())).one()
        return True

    parts: dict[str, Callable[[], bool]] = {
        "a bare sum of all postings": bare,
        "the audit's ledger part": lambda: not audit(connection).findings,
        "the audit's chain part": lambda: (
            not audit_chain(connection, keys, [], now_ms, tell_nobody).findings
        ),
    }
    seconds = {}
    for name, part in parts.items():
        started = time.perf_counter()
        assert part(), f"{name} finds something in a sound ledger"
        seconds[name] = time.perf_counter() - started
    return seconds


async def bench(server: PostgresServer) -> dict[str, float]:
    """Postings a second of each part, the best of the passes."""
    urls = await make_ledger(server)
    clock, keys = (
        SystemClock(),
        ChainKeys(OKPKey.generate_key("Ed25519", {"kid": "bench"}, private=True)),
    )
    owner, database = Database(urls.superuser, connections=1), Database(urls.application)
    await owner.transact(fill, Isolation.READ_COMMITTED)
    started = time.perf_counter()
    await Sealer(database, keys, clock).seal()
    count = JOURNALS * 3
    rates = {"sealing": count / (time.perf_counter() - started)}
    for _ in range(PASSES):
        seconds = await database.read(lambda each: measure(each, keys, clock.now_ms()))
        for name, each in seconds.items():
            rates[name] = max(rates.get(name, 0.0), count / each)
    await owner.close()
    await database.close()
    return rates


def main() -> None:
    """Measure and print; status 1 where the ledger part is slower than it should be."""
    configure_logging("bench", "WARNING")
    with tempfile.TemporaryDirectory(prefix="okey-pg-", dir="/tmp") as home:
        server = PostgresServer(Path(home))
        server.start()
        try:
            rates = asyncio.run(bench(server))
        finally:
            server.stop("immediate")
    table = Table("part", "postings/s", title=f"The audit of {JOURNALS * 3:,} postings, PostgreSQL")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}")
    Console().print(table)
    sys.exit(rates["the audit's ledger part"] < NEEDED)


if __name__ == "__main__":
    main()
