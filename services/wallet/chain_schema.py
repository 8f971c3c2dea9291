"""The tables that tell what was done beside money events, as queries name them; migrations 0002 and
0004 make them.

All are only ever added to.
"""

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Identity, Index, Integer, String, Table, Text

from services.wallet.schema import metadata

_Number: Final = BigInteger().with_variant(Integer, "sqlite")
_Name: Final = String(100).with_variant(String(100, collation="C"), "postgresql")

chain_blocks: Final = Table(
    "chain_blocks",
    metadata,
    Column("block_no", BigInteger, primary_key=True, autoincrement=False),
    # The journals of the block are those of this range, without the missing ones.
    Column("first_journal", BigInteger, nullable=False),
    Column("last_journal", BigInteger, nullable=False),
    Column("missing", Text, nullable=False),
    Column("journal_count", BigInteger, nullable=False),
    Column("content_digest", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("sealed_ms", BigInteger, nullable=False),
    Column("key_id", String(64), nullable=False),
    Column("signature", String(128), nullable=False),
)

chain_blocks_by_journal: Final = Index("chain_blocks_by_journal", chain_blocks.c.last_journal)

account_freezes: Final = Table(
    "account_freezes",
    metadata,
    Column("freeze_no", _Number, Identity(always=True), primary_key=True),
    Column("account", _Name, nullable=False),
    Column("is_frozen", Boolean, nullable=False),
    Column("changed_ms", BigInteger, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("reason", String(500), nullable=False),
)

account_freezes_by_account: Final = Index(
    "account_freezes_by_account", account_freezes.c.account, account_freezes.c.freeze_no
)

account_closures: Final = Table(
    "account_closures",
    metadata,
    Column("account", _Name, primary_key=True),
    Column("closed_ms", BigInteger, nullable=False),
    Column("unclaimed", BigInteger, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("reason", String(500), nullable=False),
)
