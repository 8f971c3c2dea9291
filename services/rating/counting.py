"""How many players stand above a rating, without looking at them: counts of players by buckets.

On level 0 a bucket is one rating in milli-points, and on each further level 128 buckets of the one
below. The players above a rating are those in the buckets to its right on level 0, up to the end of
its bucket on level 1; then those to the right of that one on level 1, and so on: 381 small numbers
and the few of the highest level, however many players there are and wherever the rating stands.

The counts change in the transaction that changes the ratings, as its last statements. Every
transaction changes them in the order of their keys, so two of them never wait for each other.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
)

from okey.rating import Ladder
from services.rating.schema import board_counts, ratings
from services.rating.section import Section

BITS: Final = 7
LEVELS: Final = 4

_Number = ColumnElement[int]


@dataclass(frozen=True, slots=True, order=True)
class Board:
    """The ranking of one ladder in one season."""

    season: int
    ladder: Ladder


@dataclass(frozen=True, slots=True)
class Move:
    """A player who comes to, moves on, or leaves for another section of, a board."""

    board: Board
    player_id: str
    from_section: Section
    from_milli: int
    to_section: Section
    to_milli: int


# What both databases read alike and SQLAlchemy has no common word for.
_ADD: Final = text(
    "INSERT INTO board_counts (season, ladder, section, level, bucket, players)"
    " VALUES (:season, :ladder, :section, :level, :bucket, :players)"
    " ON CONFLICT (season, ladder, section, level, bucket)"
    " DO UPDATE SET players = board_counts.players + excluded.players"
)
_DROP_EMPTY: Final = delete(board_counts).where(
    board_counts.c.season == bindparam("of_season"),
    board_counts.c.ladder == bindparam("of_ladder"),
    board_counts.c.section == bindparam("of_section"),
    board_counts.c.level == bindparam("of_level"),
    board_counts.c.bucket == bindparam("of_bucket"),
    board_counts.c.players == 0,
)


def count_moves(connection: Connection, moves: Iterable[Move]) -> None:
    """Take the players out of the buckets where they stood, and put them where they stand now."""
    changes: Counter[tuple[int, int, int, int, int]] = Counter()
    for move in moves:
        for section, milli, players in (
            (move.from_section, move.from_milli, -1),
            (move.to_section, move.to_milli, 1),
        ):
            if section is not Section.UNRANKED:
                for level in range(LEVELS):
                    bucket = milli >> (BITS * level)
                    changes[move.board.season, move.board.ladder, section, level, bucket] += players
    rows = [
        {
            "season": season,
            "ladder": int(ladder),
            "section": int(section),
            "level": level,
            "bucket": bucket,
            "players": players,
        }
        for (season, ladder, section, level, bucket), players in sorted(changes.items())
        if players
    ]
    if not rows:
        return
    connection.execute(_ADD, rows)
    emptied = [
        {f"of_{name}": value for name, value in row.items() if name != "players"}
        for row in rows
        if row["players"] < 0
    ]
    if emptied:
        connection.execute(_DROP_EMPTY, emptied)


def players_above(section: _Number, milli: _Number) -> _Number:
    """How many players of the section have a higher rating, of the board that the parameters
    ``of_season`` and ``of_ladder`` name.
    """
    total: _Number = literal_column("0", BigInteger)
    for level in range(LEVELS):
        bucket = _shifted(milli, BITS * level)
        right = _counted(section, level).where(board_counts.c.bucket > bucket)
        if level < LEVELS - 1:
            last = bucket.bitwise_or(literal_column(str(2**BITS - 1), BigInteger))
            right = right.where(board_counts.c.bucket <= last)
        total += func.coalesce(right.scalar_subquery(), 0)
    return total


def players_at(section: _Number, milli: _Number) -> _Number:
    """How many players of the section have exactly this rating; see ``players_above``."""
    query = _counted(section, 0).where(board_counts.c.bucket == milli)
    return func.coalesce(query.scalar_subquery(), 0)


def players_in(section: _Number) -> _Number:
    """How many players stand in the section; see ``players_above``."""
    return func.coalesce(_counted(section, LEVELS - 1).scalar_subquery(), 0)


def recount(connection: Connection, board: Board) -> None:
    """Replace a board's counts by those of its ratings."""
    of_board = (board_counts.c.season == board.season, board_counts.c.ladder == board.ladder)
    connection.execute(delete(board_counts).where(*of_board))
    columns = [column.name for column in board_counts.c]
    for level in range(LEVELS):
        counted = true_counts(board, level)
        connection.execute(insert(board_counts).from_select(columns, counted))


def true_counts(board: Board, level: int) -> Select[int, int, int, int, int, int]:
    """What a board's counts of a level should be, counted one by one."""
    bucket = ratings.c.rating_milli.bitwise_rshift(literal_column(str(BITS * level)))
    key = (ratings.c.season, ratings.c.ladder, ratings.c.section)
    return (
        select(
            *key,
            literal_column(str(level)).label("level"),
            bucket.label("bucket"),
            func.count().label("players"),
        )
        .where(
            ratings.c.season == board.season,
            ratings.c.ladder == board.ladder,
            ratings.c.section != Section.UNRANKED,
        )
        .group_by(*key, bucket)
    )


def _counted(section: _Number, level: int) -> Select[int | None]:
    return select(func.sum(board_counts.c.players)).where(
        board_counts.c.season == bindparam("of_season"),
        board_counts.c.ladder == bindparam("of_ladder"),
        board_counts.c.section == section,
        board_counts.c.level == literal_column(str(level)),
    )


def _shifted(milli: _Number, bits: int) -> _Number:
    return milli.bitwise_rshift(literal_column(str(bits), BigInteger)) if bits else milli
