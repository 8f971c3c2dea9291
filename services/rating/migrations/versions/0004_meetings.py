"""Who was rated against whom, so that meetings of two can be counted."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

RECORD_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
PLAYER_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")


def upgrade() -> None:
    """Make their table; a replica of the version before rates no match that needs it."""
    op.create_table(
        "meetings",
        sa.Column("low_player", PLAYER_ID, primary_key=True),
        sa.Column("high_player", PLAYER_ID, primary_key=True),
        sa.Column("ended_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("record_id", RECORD_ID, sa.ForeignKey("records.record_id"), primary_key=True),
    )
    op.create_index("meetings_by_record", "meetings", ["record_id"])
