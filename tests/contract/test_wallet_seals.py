"""What the wallet's database refuses by itself, tried with plain SQL under the wallet's role."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, inspect, text

from okey_runtime.clock import VirtualClock
from okey_runtime.database import DatabaseRefused
from services.wallet import schema
from services.wallet.app import migrate_ledger
from services.wallet.privileges import PRIVILEGES
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import WELCOME, Play
from tests.fixtures.ledger import LedgerDatabase, LedgerUrls, make_ledger, refused

Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture
async def wallet(database: LedgerDatabase) -> AsyncIterator[Wallet]:
    """A wallet with a stake held: journal 1 is A's welcome grant, journal 2 the hold."""
    wallet = Wallet(database, HOUSE, VirtualClock())
    await Play(wallet).hold(0, "A")
    yield wallet
    assert (await wallet.audit()).findings == ()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def sealed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    sqlite_template: Path,
) -> AsyncIterator["Sealed"]:
    """Such a ledger, once for all attacks: whatever changes it fails its test anyway."""
    # The template is made by a coroutine too, which cannot begin while this one runs.
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("sealed") / "wallet.db"
        shutil.copy(sqlite_template, path)
        urls = LedgerUrls.of_anyone(f"sqlite:///{path}")
    else:
        urls = await make_ledger(request.getfixturevalue("postgres_server"))
    database, owner = LedgerDatabase(urls), LedgerDatabase(LedgerUrls.of_anyone(urls.owner))
    wallet = Wallet(database, HOUSE, VirtualClock())
    await Play(wallet).hold(0, "A")
    before = await database.read(everything)
    yield Sealed(database, owner, before)
    assert (await wallet.audit()).findings == ()
    await database.close()
    await owner.close()


@dataclass(frozen=True)
class Sealed:
    """A ledger as the wallet's role and as its owner see it, and what stands in it."""

    database: LedgerDatabase
    owner: LedgerDatabase
    before: Rows

    async def refuses(self, statement: str) -> None:
        """The statement fails, as the wallet's role and as the owner, and changes nothing."""
        for role in (self.database, self.owner):
            with refused():
                await role.run(statement)
            assert await self.database.read(everything) == self.before


def everything(connection: Connection) -> Rows:
    """All rows of all tables."""
    return {
        name: sorted(map(tuple, connection.execute(table.select())), key=repr)
        for name, table in schema.metadata.tables.items()
    }


def journal(legs: str, verb: str = "INSERT") -> str:
    """A journal as plain SQL."""
    # A colon would be a parameter's.
    escaped = legs.replace(":", "\\:")
    return (
        f"{verb} INTO journals (kind, rules_version, booked_ms, legs) "
        f"VALUES ('settle', 'x', 0, '{escaped}')"
    )


async def test_a_journal_is_its_legs(wallet: Wallet, database: LedgerDatabase) -> None:
    """M3: one row with its legs makes the postings, their numbers and the balances."""
    await database.run(journal('{"house:rake":5,"player:A":-5}'))
    assert await Play(wallet).purse("A") == WELCOME - 105


EDITS = [
    "UPDATE journals SET rules_version = 'x'",
    "UPDATE journals SET legs = '{}'",
    "DELETE FROM journals",
    "UPDATE postings SET amount = amount + 1",
    "UPDATE postings SET balance_after = balance_after + 1 WHERE version IS NOT NULL",
    "DELETE FROM postings",
    "UPDATE requests SET request_hash = 'x'",
    "DELETE FROM requests",
    "DELETE FROM accounts",
    "UPDATE accounts SET balance = balance + 1",
    "UPDATE accounts SET balance = -1",
    "UPDATE accounts SET version = version + 1",
    "UPDATE accounts SET account = 'player\\:B' WHERE account = 'player\\:A'",
]


@pytest.mark.parametrize("statement", EDITS)
async def test_what_is_booked_stays(sealed: Sealed, statement: str) -> None:
    """M3, M5: no update and no delete of journals, postings, keys, nor of balances by hand."""
    await sealed.refuses(statement)


UNSOUND = {
    "no legs": "{}",
    "one leg": '{"house:rake":5}',
    "a sum that is not zero": '{"house:rake":5,"player:A":-4}',
    "a leg of nothing": '{"house:rake":5,"player:A":-5,"house:bonus":0}',
    "one account twice": '{"house:rake":5,"house:rake":-5}',
    "one account thrice": '{"house:rake":5,"house:rake":5,"player:A":-10}',
    "half a chip": '{"house:rake":0.5,"player:A":-0.5}',
    "a chip in exponents": '{"house:rake":1e1,"player:A":-1e1}',
    "no number": '{"house:rake":"five","player:A":-5}',
    "a number in quotes": '{"house:rake":"5","player:A":"-5"}',
    "null": '{"house:rake":null,"player:A":null}',
    "a list": "[5,-5]",
    "a word": "null",
    "no JSON": "house:rake",
    "more than one leg moves": '{"house:rake":1000000000000001,"house:bonus":-1000000000000001}',
    "more than 64 bits": '{"house:rake":9223372036854775808,"house:bonus":-9223372036854775808}',
    "more than there is": f'{{"house:rake":{WELCOME},"player:A":-{WELCOME}}}',
    "an account that nobody opened": '{"house:rake":-5,"player:Z":5}',
    "a house that is not": '{"house:rakes":5,"player:A":-5}',
    "an account of no kind": '{"purse:A":5,"player:A":-5}',
}


@pytest.mark.parametrize("legs", UNSOUND.values(), ids=UNSOUND.keys())
async def test_a_journal_that_does_not_add_up_is_refused(sealed: Sealed, legs: str) -> None:
    """M3: two legs or more on different open accounts, none zero, together zero, none overdrawn."""
    await sealed.refuses(journal(legs))


LATE = [
    "(2, 'house\\:rake', 5, NULL, NULL)",
    "(2, 'player\\:A', -100, 9800, 3)",
    "(2, 'player\\:A', -1, 9899, 3)",
    "(1, 'system\\:issuance', -10000, NULL, NULL)",
    "(3, 'house\\:rake', 5, NULL, NULL)",
]


@pytest.mark.parametrize("leg", LATE)
async def test_there_is_no_late_leg(sealed: Sealed, leg: str) -> None:
    """M3: a booked journal gets no further leg, and none of its legs a second posting."""
    columns = "journal_id, account, amount, balance_after, version"
    await sealed.refuses(f"INSERT INTO postings ({columns}) VALUES {leg}")


@pytest.mark.parametrize(
    "row", ["'player\\:B', 5, 0", "'player\\:B', 0, 5", "'house\\:rake', 0, 0"]
)
async def test_an_account_opens_empty(sealed: Sealed, row: str) -> None:
    """M3: chips come with a journal only, and the shared accounts keep no balance."""
    columns = "account, balance, version, frozen"
    await sealed.refuses(f"INSERT INTO accounts ({columns}) VALUES ({row}, (1 = 0))")


REQUEST = (
    "INTO requests (idempotency_key, request_hash, answered_ms, pot, kasa, penalty, shortfall) "
    "SELECT idempotency_key, 'another', 0, 0, 0, 0, 0 FROM requests"
)


async def test_a_key_is_used_once(sealed: Sealed) -> None:
    """M5: the same key with other content is refused by the database too."""
    await sealed.refuses(f"INSERT {REQUEST}")


POSTGRESQL = [
    "TRUNCATE journals CASCADE",
    "TRUNCATE postings",
    "TRUNCATE requests",
    "TRUNCATE accounts",
    f"INSERT {REQUEST} ON CONFLICT (idempotency_key) DO UPDATE SET request_hash = 'another'",
    "INSERT INTO accounts VALUES ('player\\:A', 0, 0, (1 = 0)) "
    "ON CONFLICT (account) DO UPDATE SET balance = 1000000",
]
APPLICATION_ONLY = [
    "ALTER TABLE postings DISABLE TRIGGER ALL",
    "DROP TRIGGER journals_book ON journals",
    "SET session_replication_role = replica",
    "CREATE OR REPLACE FUNCTION guard_posting() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN NEW; END $$",
    "CREATE TRIGGER t AFTER INSERT ON holds FOR EACH ROW EXECUTE FUNCTION book_journal()",
    "INSERT INTO journals (journal_id, kind, rules_version, booked_ms, legs) "
    "OVERRIDING SYSTEM VALUE VALUES (99, 'grant', 'x', 0, '{}')",
    "DROP TABLE requests",
    "SET ROLE wallet_owner",
]


@pytest.mark.parametrize("sealed", ["postgresql"], indirect=True)
@pytest.mark.parametrize("statement", POSTGRESQL)
async def test_postgresql_keeps_its_tables_whole(sealed: Sealed, statement: str) -> None:
    """M3, M5: no truncate, and no update by way of a conflict."""
    await sealed.refuses(statement)


@pytest.mark.parametrize("sealed", ["postgresql"], indirect=True)
@pytest.mark.parametrize("statement", APPLICATION_ONLY)
async def test_the_wallets_role_cannot_take_the_seals_off(sealed: Sealed, statement: str) -> None:
    """M3, M5: they are the owner's, and so are the functions that write postings."""
    with refused():
        await sealed.database.run(statement)


@pytest.mark.parametrize("sealed", ["postgresql"], indirect=True)
async def test_the_wallets_role_starts_on_a_migrated_ledger(sealed: Sealed) -> None:
    """M3: the owner's password is needed only where there is something to migrate."""
    own = SecretStr(sealed.database.urls.application)
    await migrate_ledger(own, own)


@pytest.mark.parametrize("sealed", ["postgresql"], indirect=True)
async def test_every_table_has_its_privileges_named(sealed: Sealed) -> None:
    """M5: one that is forgotten would stop the wallet in production only."""
    tables = await sealed.database.read(lambda each: set(inspect(each).get_table_names()))
    assert tables - PRIVILEGES.keys() == set()


@pytest.mark.parametrize("ledger_urls", ["postgresql"], indirect=True)
async def test_tables_of_ones_own_shadow_nothing(wallet: Wallet, database: LedgerDatabase) -> None:
    """M3: with temporary tables named like the ledger's one still books into the ledger."""

    def shadowed(connection: Connection) -> None:
        for name in ("accounts", "postings"):
            connection.execute(text(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS TABLE {name}"))
        connection.execute(text("UPDATE pg_temp.accounts SET balance = 1000000"))
        connection.execute(text(journal('{"house:rake":500000,"player:A":-500000}')))

    before = await database.read(everything)
    with refused():
        await database.transact(shadowed)
    assert await database.read(everything) == before


@pytest.mark.parametrize("ledger_urls", ["postgresql"], indirect=True)
async def test_booking_looks_accounts_up_by_name(wallet: Wallet, database: LedgerDatabase) -> None:
    """M3: a journal costs the same however many accounts there are."""

    def scans(connection: Connection) -> int:
        # Of a few accounts PostgreSQL rather reads all, where a name leads to them too.
        connection.execute(text("DISCARD PLANS"))
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        # Transactions of the last second on this connection may be counted too.
        asked = text("SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'accounts'")
        before = connection.execute(asked).scalar() or 0
        connection.execute(text(journal('{"house:rake":5,"player:A":-5}')))
        return int(connection.execute(asked).scalar_one()) - int(before)

    assert await database.transact(scans) == 0


LOOT = f'{{"house:rake":{2 * WELCOME},"player:A":-{2 * WELCOME}}}'
SQLITE = [
    f"INSERT OR REPLACE {REQUEST}",
    "REPLACE INTO accounts VALUES ('player\\:A', 0, 0, FALSE)",
    "REPLACE INTO journals SELECT * FROM journals",
    "REPLACE INTO postings SELECT * FROM postings",
    "UPDATE OR REPLACE postings SET journal_id = 1",
    "UPDATE OR REPLACE accounts SET account = 'player\\:A'",
    journal(LOOT, "INSERT OR IGNORE"),
    journal(LOOT, "INSERT OR REPLACE"),
    journal(UNSOUND["an account that nobody opened"], "INSERT OR IGNORE"),
    journal(UNSOUND["a house that is not"], "INSERT OR IGNORE"),
    journal(UNSOUND["one account twice"], "INSERT OR IGNORE"),
    "INSERT INTO journals VALUES (9223372036854775807, 'grant', 'x', 0, '', '', '', '', NULL, "
    '\'{"house\\:rake"\\:5,"house\\:bonus"\\:-5}\')',
]


@pytest.mark.parametrize("sealed", ["sqlite"], indirect=True)
@pytest.mark.parametrize("statement", SQLITE)
async def test_sqlites_own_ways_are_closed(sealed: Sealed, statement: str) -> None:
    """M3, M5: OR REPLACE deletes past delete triggers, OR IGNORE past constraints."""
    await sealed.refuses(statement)


@pytest.mark.parametrize("sealed", ["sqlite"], indirect=True)
async def test_sqlite_needs_no_check_constraints(sealed: Sealed) -> None:
    """M3: a connection may switch those off, the triggers not."""
    switch = "PRAGMA ignore_check_constraints = "
    await sealed.database.run(f"{switch} ON")
    for name in ("more than there is", "an account that nobody opened", "a house that is not"):
        await sealed.refuses(journal(UNSOUND[name]))
    await sealed.database.run(f"{switch} OFF")


async def test_plain_journals_at_once_never_overdraw(
    wallet: Wallet, database: LedgerDatabase
) -> None:
    """M3: also when nobody locks anything."""
    taking = journal(json.dumps({"house:rake": 3_000, "player:A": -3_000}))

    async def attempt() -> bool:
        try:
            await database.run(taking)
        except DatabaseRefused:
            return False
        return True

    taken = sum(await asyncio.gather(*(attempt() for _ in range(12))))
    assert taken > 0
    assert await Play(wallet).purse("A") == WELCOME - 100 - 3_000 * taken


@pytest.mark.parametrize("ledger_urls", ["postgresql"], indirect=True)
async def test_the_wallets_role_reads_and_adds(database: LedgerDatabase) -> None:
    """M5: it has no right to change or empty what is only added to."""

    def rights(connection: Connection) -> set[tuple[str, str]]:
        rows = connection.execute(
            text(
                "SELECT table_name, privilege_type FROM information_schema.role_table_grants "
                "WHERE grantee = current_user AND privilege_type NOT IN ('SELECT', 'INSERT')"
            )
        )
        return {(row.table_name, row.privilege_type) for row in rows}

    assert await database.read(rights) == set()
