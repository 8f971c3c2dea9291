"""Tables, their journal, who sits where, relay cursors, members and display names."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLE_ID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "tables",
        sa.Column("table_id", TABLE_ID, primary_key=True),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("is_closed", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("is_retired", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("open_tables", "tables", ["is_retired", "table_id"])
    op.create_table(
        "journal",
        sa.Column("table_id", TABLE_ID, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("player", sa.String(64)),
        sa.Column("request_id", sa.String(64)),
        sa.Column("request_hash", sa.LargeBinary),
    )
    op.create_table(
        "seated",
        sa.Column("player", sa.String(64), primary_key=True),
        sa.Column("table_id", TABLE_ID, nullable=False),
    )
    op.create_table(
        "cursors",
        sa.Column("table_id", TABLE_ID, primary_key=True),
        sa.Column("sink", sa.String(16), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "members",
        sa.Column("engine", sa.String(100), primary_key=True),
        sa.Column("address", sa.String(255), nullable=False),
        sa.Column("renewed_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "players",
        sa.Column("player", sa.String(64), primary_key=True),
        sa.Column("display_name", sa.String(64), nullable=False),
    )
