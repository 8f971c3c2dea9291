"""Tamper evidence on every database: what its owner does past the seals is found, and named."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from joserfc.jwk import OKPKey
from sqlalchemy import Connection

from okey.money.account import HOUSE_PENALTY, HOUSE_RAKE, player_account
from okey_runtime.clock import VirtualClock
from okey_runtime.keys import create_signing_key, write_jwks
from services.wallet.auditing import Auditor
from services.wallet.chain import ChainKeys, Head
from services.wallet.finding import FindingKind
from services.wallet.freeze import set_frozen
from services.wallet.sealer import SETTLE_MS, Sealer
from services.wallet.sealing import LATE_MS
from services.wallet.wallet import Wallet
from tests.contract.wallet_house import HOUSE
from tests.contract.wallet_play import VERSION, Play
from tests.fixtures.ledger import LedgerDatabase, refused


def signing_keys(key_id: str = "chain") -> ChainKeys:
    return ChainKeys(OKPKey.generate_key("Ed25519", {"kid": key_id}, private=True))


class Chained:
    """A ledger of three blocks of one table's stakes and grants, and its parts."""

    def __init__(self, database: LedgerDatabase) -> None:
        self.database = database
        self.clock = VirtualClock()
        self.keys = signing_keys()
        self.sealer = Sealer(database, self.keys, self.clock)
        self.play = Play(Wallet(database, HOUSE, self.clock))

    async def fill(self) -> None:
        """A's welcome grant is journal 1, its stake 2; a grant of 70 each to A and B, 3 to 5."""
        await self.play.hold(0, "A")
        await self.sealer.seal()
        await self.play.grant("A", 70)
        await self.sealer.seal()
        await self.play.grant("B", 70)
        await self.sealer.seal()

    async def audit(self, anchors: Sequence[Head] = ()) -> dict[FindingKind, str]:
        """What an audit finds that starts with nothing but the key: kind to its last subject."""
        fresh = Sealer(self.database, self.keys, self.clock)
        audit = await Auditor(self.database, self.clock, fresh, None).run(anchors=anchors)
        return {finding.kind: finding.subject for finding in audit.findings}

    async def head(self) -> Head:
        """The chain's head as it is exported."""
        head = await self.sealer.head()
        assert head is not None
        return head

    async def tamper(self, *statements: str) -> None:
        """Plain SQL past the seals."""
        for statement in statements:
            await self.database.tamper(statement)

    async def cut_tail(self) -> None:
        """Make B, its account and grants never have been, and no sum show it."""
        await self.tamper(
            "DELETE FROM chain_blocks WHERE block_no = 3",
            "DELETE FROM requests WHERE journal_id >= 4",
            "DELETE FROM postings WHERE journal_id >= 4",
            "DELETE FROM journals WHERE journal_id >= 4",
            "DELETE FROM accounts WHERE account = 'player:B'",
        )

    async def raise_grant(self) -> None:
        """Make A's grant of 70 one of 7,000 in every place where it stands."""
        await self.tamper(
            "UPDATE journals SET legs = replace(legs, '70', '7000') WHERE journal_id = 3",
            "UPDATE postings SET amount = amount * 100 WHERE journal_id = 3",
            "UPDATE postings SET balance_after = balance_after + 6930 "
            "WHERE journal_id = 3 AND account = 'player:A'",
            "UPDATE accounts SET balance = balance + 6930 WHERE account = 'player:A'",
        )

    async def insert_journal(self, journal_id: int) -> None:
        """A sound journal between two house accounts, under a number of one's choice."""
        # A colon would name a parameter of the statement.
        rake, penalty = (each.replace(":", r"\:") for each in (HOUSE_RAKE, HOUSE_PENALTY))
        legs = f'{{"{penalty}"\\:-5,"{rake}"\\:5}}'
        is_postgres = self.database.dialect == "postgresql"
        number = "OVERRIDING SYSTEM VALUE VALUES" if is_postgres else "VALUES"
        await self.tamper(
            "INSERT INTO journals (journal_id, kind, rules_version, booked_ms, legs) "
            f"{number} ({journal_id}, 'settle', '{VERSION}', 5, '{legs}')",
            "INSERT INTO postings (journal_id, account, amount) "
            f"VALUES ({journal_id}, '{penalty}', -5), ({journal_id}, '{rake}', 5)",
        )


@pytest.fixture
async def chained(database: LedgerDatabase) -> Chained:
    """A chain of three blocks."""
    chained = Chained(database)
    await chained.fill()
    return chained


async def test_a_whole_chain_has_no_findings(chained: Chained) -> None:
    """M5: every journal is in a block, every block follows and is signed."""
    head = await chained.head()
    assert (head.block_no, head.last_journal) == (3, 5)
    assert await chained.audit([head]) == {}


async def test_a_journal_changed_with_all_its_sums_is_found(chained: Chained) -> None:
    """M5: the books add up, the block's digest does not."""
    await chained.raise_grant()
    assert await chained.audit() == {FindingKind.JOURNAL_ALTERED: "block:2"}


async def test_a_word_of_a_journal_changed_is_found(chained: Chained) -> None:
    """M5: who, why, when and what stand in the chain as the amounts do."""
    for column, value in (("reason", "'a gift'"), ("actor", "NULL"), ("booked_ms", "5")):
        await chained.tamper(
            f"UPDATE journals SET {column} = {value} WHERE journal_id = 3",
        )
        assert await chained.audit() == {FindingKind.JOURNAL_ALTERED: "block:2"}, column
        await chained.tamper(
            "DELETE FROM chain_blocks WHERE block_no >= 2",
        )
        await chained.sealer.seal()
        assert await chained.audit() == {}, column


async def test_text_cannot_be_moved_between_columns(chained: Chained) -> None:
    """M5: no two contents have the same text."""
    await chained.tamper(
        "UPDATE journals SET actor = 'op|6:a test', reason = NULL WHERE journal_id = 3"
    )
    assert await chained.audit() == {FindingKind.JOURNAL_ALTERED: "block:2"}


async def test_a_removed_journal_is_found(chained: Chained) -> None:
    """M5: with postings, request and balance, so that the books add up."""
    await chained.tamper(
        "DELETE FROM requests WHERE journal_id = 3",
        "DELETE FROM postings WHERE journal_id = 3",
        "DELETE FROM journals WHERE journal_id = 3",
        "UPDATE accounts SET balance = balance - 70, version = version - 1 "
        "WHERE account = 'player:A'",
    )
    assert await chained.audit() == {FindingKind.JOURNAL_REMOVED: "block:2"}


async def test_a_block_changed_to_fit_is_found(chained: Chained) -> None:
    """M5: its digest covers what it says."""
    await chained.tamper("UPDATE chain_blocks SET sealed_ms = 5 WHERE block_no = 2")
    assert await chained.audit() == {FindingKind.BLOCK_ALTERED: "block:2"}


async def test_a_removed_block_is_found(chained: Chained) -> None:
    """M5: numbers have no gap."""
    await chained.tamper("DELETE FROM chain_blocks WHERE block_no = 2")
    assert await chained.audit() == {FindingKind.BLOCK_MISSING: "block:3"}


async def test_a_chain_rebuilt_without_the_key_is_found(chained: Chained) -> None:
    """M5: whoever can write the database can hash, but not sign."""
    head = await chained.head()
    await chained.raise_grant()
    await chained.tamper("DELETE FROM chain_blocks")
    await Sealer(chained.database, signing_keys(), chained.clock).seal()
    assert await chained.audit() == {FindingKind.SIGNATURE_INVALID: "block:1"}
    assert await chained.audit([head]) == {
        FindingKind.SIGNATURE_INVALID: "block:1",
        FindingKind.ANCHOR_MISSING: "anchor:3",
    }


async def test_a_chain_rebuilt_with_the_key_is_found_by_its_anchors(chained: Chained) -> None:
    """M5: a stolen key does not undo what was exported."""
    head = await chained.head()
    await chained.raise_grant()
    await chained.tamper("DELETE FROM chain_blocks")
    await chained.sealer.seal()
    for player in "CD":
        await chained.play.grant(player, 1)
        await chained.sealer.seal()
    assert await chained.audit() == {}
    assert await chained.audit([head]) == {FindingKind.ANCHOR_DIFFERS: "anchor:3"}


async def test_a_cut_off_tail_is_found_by_its_anchors(chained: Chained) -> None:
    """M5: what is left is sound, and does not reach the exported head any more."""
    head = await chained.head()
    await chained.cut_tail()
    assert await chained.audit() == {}
    assert await chained.audit([head]) == {FindingKind.ANCHOR_MISSING: "anchor:3"}


async def test_a_running_wallet_remembers_the_head_that_it_signed(chained: Chained) -> None:
    """M5: so the scheduled audit finds a cut-off tail without any export."""
    await chained.cut_tail()
    audit = await Auditor(chained.database, chained.clock, chained.sealer, None).run()
    assert [finding.kind for finding in audit.findings] == [FindingKind.ANCHOR_MISSING]


async def test_a_forged_anchor_is_found(chained: Chained) -> None:
    """M5: nobody is led astray by a head that no key has signed."""
    head = await chained.head()
    forged = Head(
        block_no=2,
        digest=head.digest,
        last_journal=head.last_journal,
        sealed_ms=head.sealed_ms,
        key_id=head.key_id,
        signature=head.signature,
    )
    assert await chained.audit([forged]) == {FindingKind.ANCHOR_FORGED: "anchor:2"}


async def test_a_journal_that_committed_late_gets_a_block_of_its_own(chained: Chained) -> None:
    """M5: numbers are given before commits, so a smaller one may come after a greater one."""
    await chained.insert_journal(9)
    assert await chained.sealer.seal() == 1
    await chained.insert_journal(7)
    assert await chained.sealer.seal() == 1
    assert (await chained.head()).last_journal == 7
    assert await chained.audit() == {}
    await chained.tamper("UPDATE journals SET reason = 'x' WHERE journal_id = 7")
    assert await chained.audit() == {FindingKind.JOURNAL_ALTERED: "block:5"}


async def test_a_journal_put_between_sealed_ones_is_found(chained: Chained) -> None:
    """M5: after a minute nothing is a latecomer any more."""
    await chained.insert_journal(9)
    await chained.sealer.seal()
    chained.clock.advance_ms(LATE_MS)
    await chained.insert_journal(7)
    assert await chained.audit() == {FindingKind.JOURNAL_ADDED: "journal:7"}


async def test_two_sealers_make_one_chain(chained: Chained) -> None:
    """M5: as many replicas as there are seal the same ledger."""
    other = Sealer(chained.database, chained.keys, chained.clock)
    for amount in (1, 2, 3):
        await chained.play.grant("A", amount)
        await asyncio.gather(chained.sealer.seal(), other.seal())
    assert (await chained.head()).block_no == 6
    assert await chained.audit() == {}


async def test_journals_under_way_are_left_for_later(chained: Chained) -> None:
    """M5: the background sealer takes what is old enough to have settled."""
    await chained.play.grant("A", 1)
    assert await chained.sealer.seal(SETTLE_MS) == 0
    chained.clock.advance_ms(SETTLE_MS)
    assert await chained.sealer.seal(SETTLE_MS) == 1


async def test_blocks_of_an_older_key_are_trusted_where_it_is_named(
    chained: Chained, tmp_path: Path
) -> None:
    """M5: keys can be changed without doubt falling on what they signed."""
    old = create_signing_key(tmp_path / "old.json", "old")
    write_jwks(tmp_path / "old.jwks", old)
    create_signing_key(tmp_path / "new.json", "new")
    await chained.tamper("DELETE FROM chain_blocks")
    await Sealer(chained.database, ChainKeys(old), chained.clock).seal()
    chained.keys = ChainKeys.load(tmp_path / "new.json", None)
    assert await chained.audit() == {FindingKind.SIGNATURE_INVALID: "block:1"}
    chained.keys = ChainKeys.load(tmp_path / "new.json", tmp_path / "old.jwks")
    assert await chained.audit() == {}


async def test_the_application_cannot_edit_the_evidence(chained: Chained) -> None:
    """M5: blocks and freezes are only added to, also with plain SQL."""

    def freeze(connection: Connection) -> bool:
        account = player_account("A")
        return set_frozen(connection, account, frozen=True, actor="op", reason="x", now_ms=1)

    assert await chained.database.transact(freeze)
    for statement in (
        "UPDATE chain_blocks SET sealed_ms = 5",
        "DELETE FROM chain_blocks",
        "UPDATE account_freezes SET actor = 'somebody'",
        "DELETE FROM account_freezes",
    ):
        with refused(r"only added to|permission denied"):
            await chained.database.run(statement)
