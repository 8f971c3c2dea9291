"""Clocks and archive of tables, snapshots, tables that stand still, switches, voided tables."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE_ID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    """Add columns and tables."""
    op.add_column("journal", sa.Column("deadline_ms", sa.BigInteger))
    op.add_column("tables", sa.Column("closed_ms", sa.BigInteger))
    archived = sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("tables", archived)
    op.execute(
        "UPDATE tables SET closed_ms = "
        "(SELECT max(at_ms) FROM journal WHERE journal.table_id = tables.table_id) "
        "WHERE is_closed"
    )
    waits = sa.text("is_retired AND NOT is_archived")
    op.create_index(
        "archivable", "tables", ["closed_ms"], postgresql_where=waits, sqlite_where=waits
    )
    op.create_table(
        "archive",
        sa.Column("table_id", TABLE_ID, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("archived_ms", sa.BigInteger, nullable=False),
        sa.Column("row_count", sa.BigInteger, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("table_id", TABLE_ID, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "quarantined",
        sa.Column("table_id", TABLE_ID, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String(600), nullable=False),
    )
    op.create_table(
        "switches",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("operator", sa.String(64), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "voided",
        sa.Column("table_id", TABLE_ID, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("operator", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("match_ids", sa.String(2_000), nullable=False),
        sa.Column("is_done", sa.Boolean, nullable=False, server_default=sa.false()),
    )
