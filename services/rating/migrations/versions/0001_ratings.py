"""Records, ratings, history and sinks."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

RECORD_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
PLAYER_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "records",
        sa.Column("record_id", RECORD_ID, primary_key=True, autoincrement=True),
        sa.Column("match_id", sa.String(64), nullable=False),
        sa.Column("player_id", PLAYER_ID, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("rules_version", sa.String(32), nullable=False),
        sa.Column("occurred_ms", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("match_id", "player_id", name="one_record_per_match_and_player"),
    )
    op.create_table(
        "ratings",
        sa.Column("ladder", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("player_id", PLAYER_ID, primary_key=True),
        sa.Column("rating_milli", sa.BigInteger, nullable=False),
        sa.Column("rated_matches", sa.BigInteger, nullable=False),
        sa.Column("section", sa.SmallInteger, nullable=False),
        sa.CheckConstraint("rated_matches >= 0", name="rated_matches_are_counted"),
    )
    op.create_index(
        "ratings_by_rank",
        "ratings",
        ["ladder", "section", sa.text("rating_milli DESC"), "player_id"],
    )
    op.create_table(
        "history",
        sa.Column("ladder", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("player_id", PLAYER_ID, primary_key=True),
        sa.Column("rated_matches", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("record_id", RECORD_ID, sa.ForeignKey("records.record_id"), nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("match_id", sa.String(64), nullable=False),
        sa.Column("rating_before_milli", sa.BigInteger, nullable=False),
        sa.Column("delta_milli", sa.BigInteger, nullable=False),
        sa.Column("occurred_ms", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("match_id", "ladder", "player_id", name="one_change_per_match"),
        sa.CheckConstraint("rated_matches > 0", name="history_counts_from_one"),
        sa.CheckConstraint("kind <> 2 OR delta_milli < 0", name="forfeits_cost"),
    )
    op.create_index("history_by_record", "history", ["record_id"])
    op.create_table(
        "sink_postings",
        sa.Column("record_id", RECORD_ID, sa.ForeignKey("records.record_id"), primary_key=True),
        sa.Column("ladder", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("sink", sa.String(32), primary_key=True),
        sa.Column("amount_milli", sa.BigInteger, nullable=False),
    )
