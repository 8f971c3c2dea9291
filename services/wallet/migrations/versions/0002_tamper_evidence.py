"""The chain of sealed blocks, and who froze which account."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
NAME = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")

SEALS = Path(__file__).parents[1] / "seals"


def upgrade() -> None:
    """Make both tables and seal them."""
    op.create_table(
        "chain_blocks",
        sa.Column("block_no", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("first_journal", sa.BigInteger, nullable=False),
        sa.Column("last_journal", sa.BigInteger, nullable=False),
        sa.Column("missing", sa.Text, nullable=False),
        sa.Column("journal_count", sa.BigInteger, nullable=False),
        sa.Column("content_digest", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("sealed_ms", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
    )
    op.create_index("chain_blocks_by_journal", "chain_blocks", ["last_journal"])
    op.create_table(
        "account_freezes",
        sa.Column("freeze_no", NUMBER, sa.Identity(always=True), primary_key=True),
        sa.Column("account", NAME, nullable=False),
        sa.Column("is_frozen", sa.Boolean, nullable=False),
        sa.Column("changed_ms", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
    )
    op.create_index("account_freezes_by_account", "account_freezes", ["account", "freeze_no"])
    _seal(op.get_bind())


def _seal(connection: sa.Connection) -> None:
    """Run the statements that make the database refuse what must not be."""
    script = (SEALS / f"evidence_{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in re.split(r"\n\s*\n", script.strip()):
        if not all(line.startswith("--") for line in statement.splitlines()):
            connection.exec_driver_sql(statement)
