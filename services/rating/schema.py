"""The tables of the rating database; the migrations make them, this module names them for queries.

``records`` and ``seasons`` are the events, ``history``, ``meetings`` and ``sink_postings`` what
they changed: nothing of these is changed or deleted, but that a season ends. The rest is derived.

A record's id is drawn after its players are locked, so the ids of two records that share a player
stand in the order of their effects.
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


def _season(*, primary_key: bool = False) -> Column[int]:
    return Column(
        "season",
        Integer,
        ForeignKey("seasons.season"),
        primary_key=primary_key,
        autoincrement=False,
        nullable=False,
    )


def _ladder() -> Column[int]:
    return Column("ladder", SmallInteger, primary_key=True, autoincrement=False)


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

seasons: Final = Table(
    "seasons",
    metadata,
    Column("season", Integer, primary_key=True, autoincrement=False),
    Column("name", String(64), nullable=False),
    Column("keep_percent", SmallInteger, nullable=False),
    Column("towards_milli", BigInteger, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    # The one that runs has none.
    Column("ended_ms", BigInteger),
    Column("started_by", String(64), nullable=False),
    CheckConstraint("keep_percent BETWEEN 0 AND 100", name="seasons_keep_a_part"),
)

# One row a player, ladder and season; the rows of earlier seasons are the archive.
ratings: Final = Table(
    "ratings",
    metadata,
    _ladder(),
    Column("player_id", _PlayerId, primary_key=True),
    _season(primary_key=True),
    Column("rating_milli", BigInteger, nullable=False),
    Column("rated_matches", BigInteger, nullable=False),
    Column("section", SmallInteger, nullable=False),
    CheckConstraint("rated_matches >= 0", name="rated_matches_are_counted"),
)

board_index: Final = Index(
    "ratings_by_rank",
    ratings.c.season,
    ratings.c.ladder,
    ratings.c.section,
    ratings.c.rating_milli.desc(),
    ratings.c.player_id,
)

history: Final = Table(
    "history",
    metadata,
    _ladder(),
    Column("player_id", _PlayerId, primary_key=True),
    Column("change_no", BigInteger, primary_key=True, autoincrement=False),
    _season(),
    Column("record_id", _RecordId, ForeignKey("records.record_id"), nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("match_id", String(64)),
    Column("rating_before_milli", BigInteger, nullable=False),
    Column("delta_milli", BigInteger, nullable=False),
    Column("rated_matches", BigInteger, nullable=False),
    Column("occurred_ms", BigInteger, nullable=False),
    UniqueConstraint("match_id", "ladder", "player_id", name="one_change_a_match"),
    CheckConstraint("change_no > 0", name="changes_count_from_one"),
    CheckConstraint("rated_matches > 0", name="changes_follow_rated_matches"),
    CheckConstraint("kind <> 2 OR delta_milli < 0", name="giving_up_costs"),
    CheckConstraint("(kind = 4) = (match_id IS NULL)", name="only_resets_have_no_match"),
)

history_by_record: Final = Index("history_by_record", history.c.record_id)

# Who was rated against whom by a match, an id that sorts lower first: what R7 counts.
meetings: Final = Table(
    "meetings",
    metadata,
    Column("low_player", _PlayerId, primary_key=True),
    Column("high_player", _PlayerId, primary_key=True),
    Column("ended_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("record_id", _RecordId, ForeignKey("records.record_id"), primary_key=True),
)

meetings_by_record: Final = Index("meetings_by_record", meetings.c.record_id)

sink_postings: Final = Table(
    "sink_postings",
    metadata,
    Column("record_id", _RecordId, ForeignKey("records.record_id"), primary_key=True),
    _ladder(),
    Column("sink", String(32), primary_key=True),
    Column("amount_milli", BigInteger, nullable=False),
)

# These two belong to replicas of the release before; see ``services.rating.old_copies``.
boards: Final = Table(
    "boards",
    metadata,
    _season(primary_key=True),
    _ladder(),
    Column("epoch", String(32), nullable=False),
    Column("version", BigInteger, nullable=False),
)

board_changes: Final = Table(
    "board_changes",
    metadata,
    _season(primary_key=True),
    _ladder(),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("player_id", _PlayerId, primary_key=True),
)

# How many players of a section stand in a bucket of ratings; see ``services.rating.counting``.
board_counts: Final = Table(
    "board_counts",
    metadata,
    _season(primary_key=True),
    _ladder(),
    Column("section", SmallInteger, primary_key=True, autoincrement=False),
    Column("level", SmallInteger, primary_key=True, autoincrement=False),
    Column("bucket", BigInteger, primary_key=True, autoincrement=False),
    Column("players", BigInteger, nullable=False),
)

# Players whose ids are closed: on no board, and shown to nobody. What they played stays recorded.
erased_players: Final = Table(
    "erased_players",
    metadata,
    Column("player_id", _PlayerId, primary_key=True),
    Column("erased_ms", BigInteger, nullable=False),
    Column("erased_by", String(64), nullable=False),
    Column("reason", String(500), nullable=False),
)
