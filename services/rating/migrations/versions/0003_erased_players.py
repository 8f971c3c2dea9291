"""Players whose ids are closed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

PLAYER_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "erased_players",
        sa.Column("player_id", PLAYER_ID, primary_key=True),
        sa.Column("erased_ms", sa.BigInteger, nullable=False),
        sa.Column("erased_by", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
    )
