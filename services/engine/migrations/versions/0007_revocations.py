"""Revoked tokens, and players' sessions where only one is allowed."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing is revoked yet."""
    op.create_table(
        "revocations",
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("id", sa.String(128), primary_key=True),
        sa.Column("issued_before_ms", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
        sa.Column("is_replaced", sa.Boolean, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False, unique=True),
    )
    op.create_index("revocations_until", "revocations", ["until_ms"])
    positions = op.create_table(
        "revocation_positions",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(positions, [{"id": 1, "last": 0}])
    op.create_table(
        "sessions",
        sa.Column("player", sa.String(64), primary_key=True),
        sa.Column("session", sa.String(130), nullable=False),
        sa.Column("issued_ms", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("sessions_until", "sessions", ["until_ms"])
