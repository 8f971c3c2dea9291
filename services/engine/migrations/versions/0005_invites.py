"""Hashes of the invite codes of private tables."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No table there was is private."""
    table_id = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")
    op.create_table(
        "invites",
        sa.Column("table_id", table_id, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("code_hash", sa.LargeBinary, primary_key=True),
        sa.Column("made_ms", sa.BigInteger, nullable=False),
    )
