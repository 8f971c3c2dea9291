"""The tables of the rating database; the migrations make them, this module names them for queries.

Nothing is ever changed or deleted but ``ratings``, the sum of ``history``. A record's id is
drawn after its players are locked, so the ids of two records that share a player stand in the order
of their effects.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata: Final = MetaData()

# SQLite numbers rows only in a column of exactly INTEGER; PostgreSQL shall sort ids by bytes, as
# SQLite does.
_RecordId: Final = BigInteger().with_variant(Integer, "sqlite")
_PlayerId: Final = String(64).with_variant(String(64, collation="C"), "postgresql")

records: Final = Table(
    "records",
    metadata,
    Column("record_id", _RecordId, primary_key=True, autoincrement=True),
    Column("match_id", String(64), nullable=False),
    # Whose forfeit it is; empty for the match itself.
    Column("player_id", _PlayerId, nullable=False),
    Column("content", Text, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("rules_version", String(32), nullable=False),
    Column("occurred_ms", BigInteger, nullable=False),
    UniqueConstraint("match_id", "player_id", name="one_record_per_match_and_player"),
)

ratings: Final = Table(
    "ratings",
    metadata,
    Column("ladder", SmallInteger, primary_key=True, autoincrement=False),
    Column("player_id", _PlayerId, primary_key=True),
    Column("rating_milli", BigInteger, nullable=False),
    Column("rated_matches", BigInteger, nullable=False),
    Column("section", SmallInteger, nullable=False),
    CheckConstraint("rated_matches >= 0", name="rated_matches_are_counted"),
)

board_index: Final = Index(
    "ratings_by_rank",
    ratings.c.ladder,
    ratings.c.section,
    ratings.c.rating_milli.desc(),
    ratings.c.player_id,
)

history: Final = Table(
    "history",
    metadata,
    Column("ladder", SmallInteger, primary_key=True, autoincrement=False),
    Column("player_id", _PlayerId, primary_key=True),
    Column("rated_matches", BigInteger, primary_key=True, autoincrement=False),
    Column("record_id", _RecordId, ForeignKey("records.record_id"), nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("match_id", String(64), nullable=False),
    Column("rating_before_milli", BigInteger, nullable=False),
    Column("delta_milli", BigInteger, nullable=False),
    Column("occurred_ms", BigInteger, nullable=False),
    UniqueConstraint("match_id", "ladder", "player_id", name="one_change_per_match"),
    CheckConstraint("rated_matches > 0", name="history_counts_from_one"),
    CheckConstraint("kind <> 2 OR delta_milli < 0", name="forfeits_cost"),
)

history_by_record: Final = Index("history_by_record", history.c.record_id)

sink_postings: Final = Table(
    "sink_postings",
    metadata,
    Column("record_id", _RecordId, ForeignKey("records.record_id"), primary_key=True),
    Column("ladder", SmallInteger, primary_key=True, autoincrement=False),
    Column("sink", String(32), primary_key=True),
    Column("amount_milli", BigInteger, nullable=False),
)
