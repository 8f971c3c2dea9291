"""Where each round stands among its table's rows, so that a finished one is read alone."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rounds that were dealt before are found by reading all rows of their table."""
    table_id = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")
    op.create_table(
        "rounds",
        sa.Column("table_id", table_id, sa.ForeignKey("tables.table_id"), primary_key=True),
        sa.Column("match_no", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("round_no", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("last_seq", sa.BigInteger),
        sa.Column("match_id", sa.String(64), nullable=False),
        sa.Column("players", sa.String(300), nullable=False),
        sa.Column("commitment", sa.LargeBinary, nullable=False),
    )
