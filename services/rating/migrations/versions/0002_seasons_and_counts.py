"""Seasons; the counts from which a rank is read; what tells a stale copy of a board."""

import secrets
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BEFORE_GOES_ON = (
    "Replicas of the version before read on as before. What they would write is refused, because it"
    " would miss the counts, and the engine repeats it until a new replica answers."
)

RECORD_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
PLAYER_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
FIRST_SEASON = 1
LEVELS = 4
BITS = 7


def upgrade() -> None:
    """Make what is new, and carry over what is there as the first season."""
    _create_seasons()
    _renew_ratings()
    _renew_history()
    _create_boards()


def _season(*, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(
        "season",
        sa.Integer,
        sa.ForeignKey("seasons.season"),
        primary_key=primary_key,
        autoincrement=False,
        nullable=False,
    )


def _ladder() -> sa.Column[int]:
    return sa.Column("ladder", sa.SmallInteger, primary_key=True, autoincrement=False)


def _create_seasons() -> None:
    seasons = op.create_table(
        "seasons",
        sa.Column("season", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("keep_percent", sa.SmallInteger, nullable=False),
        sa.Column("towards_milli", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("started_by", sa.String(64), nullable=False),
        sa.CheckConstraint("keep_percent BETWEEN 0 AND 100", name="seasons_keep_a_part"),
    )
    first = {"season": FIRST_SEASON, "name": "", "keep_percent": 100, "towards_milli": 1_200_000}
    op.bulk_insert(seasons, [first | {"started_ms": 0, "ended_ms": None, "started_by": ""}])


def _renew_ratings() -> None:
    op.create_table(
        "new_ratings",
        _ladder(),
        sa.Column("player_id", PLAYER_ID, primary_key=True),
        _season(primary_key=True),
        sa.Column("rating_milli", sa.BigInteger, nullable=False),
        sa.Column("rated_matches", sa.BigInteger, nullable=False),
        sa.Column("section", sa.SmallInteger, nullable=False),
        sa.CheckConstraint("rated_matches >= 0", name="rated_matches_are_counted"),
    )
    kept = ("ladder", "player_id", "rating_milli", "rated_matches", "section")
    _carry_over("ratings", kept, {"season": sa.literal(FIRST_SEASON)})
    op.create_index(
        "ratings_by_rank",
        "ratings",
        ["season", "ladder", "section", sa.text("rating_milli DESC"), "player_id"],
    )


def _renew_history() -> None:
    op.create_table(
        "new_history",
        _ladder(),
        sa.Column("player_id", PLAYER_ID, primary_key=True),
        sa.Column("change_no", sa.BigInteger, primary_key=True, autoincrement=False),
        _season(),
        sa.Column("record_id", RECORD_ID, sa.ForeignKey("records.record_id"), nullable=False),
        sa.Column("kind", sa.SmallInteger, nullable=False),
        sa.Column("match_id", sa.String(64)),
        sa.Column("rating_before_milli", sa.BigInteger, nullable=False),
        sa.Column("delta_milli", sa.BigInteger, nullable=False),
        sa.Column("rated_matches", sa.BigInteger, nullable=False),
        sa.Column("occurred_ms", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("match_id", "ladder", "player_id", name="one_change_a_match"),
        sa.CheckConstraint("change_no > 0", name="changes_count_from_one"),
        sa.CheckConstraint("rated_matches > 0", name="changes_follow_rated_matches"),
        sa.CheckConstraint("kind <> 2 OR delta_milli < 0", name="giving_up_costs"),
        sa.CheckConstraint("(kind = 4) = (match_id IS NULL)", name="only_resets_have_no_match"),
    )
    kept = (
        *("ladder", "player_id", "rated_matches", "record_id", "kind", "match_id"),
        *("rating_before_milli", "delta_milli", "occurred_ms"),
    )
    number = sa.column("rated_matches", sa.BigInteger)
    _carry_over("history", kept, {"change_no": number, "season": sa.literal(FIRST_SEASON)})
    op.create_index("history_by_record", "history", ["record_id"])


def _carry_over(
    table: str, columns: Sequence[str], added: Mapping[str, sa.ColumnElement[int]]
) -> None:
    """Fill the new table from the old one, and put it in its place."""
    old = sa.table(table, *map(sa.column, columns))
    new = sa.table(f"new_{table}", *map(sa.column, (*columns, *added)))
    selected = sa.select(*old.c, *added.values()).order_by(old.c.ladder, old.c.player_id)
    op.execute(sa.insert(new).from_select([*columns, *added], selected))
    op.drop_table(table)
    op.rename_table(new.name, table)


def _create_boards() -> None:
    boards = op.create_table(
        "boards",
        _season(primary_key=True),
        _ladder(),
        sa.Column("epoch", sa.String(32), nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "board_changes",
        _season(primary_key=True),
        _ladder(),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("player_id", PLAYER_ID, primary_key=True),
    )
    counts = op.create_table(
        "board_counts",
        _season(primary_key=True),
        _ladder(),
        sa.Column("section", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("level", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("bucket", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("players", sa.BigInteger, nullable=False),
    )
    fresh = [
        {"season": FIRST_SEASON, "ladder": ladder, "epoch": secrets.token_hex(8), "version": 0}
        for ladder in (1, 2, 3)
    ]
    op.bulk_insert(boards, fresh)
    key = [sa.column(name, sa.Integer) for name in ("season", "ladder", "section")]
    milli = sa.column("rating_milli", sa.BigInteger)
    for level in range(LEVELS):
        bucket = milli.bitwise_rshift(sa.literal_column(str(BITS * level)))
        counted = (
            sa.select(*key, sa.literal(level), bucket, sa.func.count())
            .select_from(sa.table("ratings"))
            .where(key[2] > 0)
            .group_by(*key, bucket)
        )
        op.execute(sa.insert(counts).from_select([column.name for column in counts.c], counted))
