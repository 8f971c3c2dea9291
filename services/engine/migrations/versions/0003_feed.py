"""A position for each row among those of all tables, for whoever follows them all."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBER = """
UPDATE journal SET position = numbered.position FROM (
    SELECT table_id, seq, row_number() OVER (ORDER BY by_then_ms, table_id, seq) AS position FROM (
        SELECT table_id, seq, max(at_ms) OVER (PARTITION BY table_id ORDER BY seq) AS by_then_ms
        FROM journal
    ) AS timed
) AS numbered
WHERE journal.table_id = numbered.table_id AND journal.seq = numbered.seq
"""


def upgrade() -> None:
    """Number the rows there are, by time and in each table's order, and go on from there."""
    op.add_column("journal", sa.Column("position", sa.BigInteger))
    op.execute(NUMBER)
    op.create_index("journal_position", "journal", ["position"], unique=True)
    op.create_table(
        "feed",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("archived", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    )
    op.execute("INSERT INTO feed (id, last) SELECT 1, coalesce(max(position), 0) FROM journal")
