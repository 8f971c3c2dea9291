"""Leases of engines by the database's clock, and which engine has which shard."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SHARD_COUNT = 256


def upgrade() -> None:
    """Add what members say of themselves; nobody has any shard yet.

    The clocks of tables stand still since the engine before last was alive.
    """
    for column in (
        sa.Column("incarnation", sa.String(32), nullable=False, server_default=sa.text("''")),
        sa.Column("leased_ms", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("is_taking", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("events", sa.String(2_000), nullable=False, server_default=sa.text("''")),
    ):
        op.add_column("members", column)
    shards = op.create_table(
        "shards",
        sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("owner", sa.String(100)),
        sa.Column("since_ms", sa.BigInteger),
        sa.Column("is_pinned", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.bulk_insert(shards, [{"shard": shard} for shard in range(SHARD_COUNT)])
    op.execute("UPDATE shards SET since_ms = (SELECT coalesce(max(renewed_ms), 0) FROM members)")
    op.execute("DELETE FROM members")
