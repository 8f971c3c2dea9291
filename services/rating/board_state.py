"""What a copy of a board is made of: its version, who changed since another, everybody in turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Row, delete, select

from okey.errors import Unavailable
from okey.rating import Ladder, Standing
from services.rating.counting import Board
from services.rating.schema import board_changes, boards, ratings
from services.rating.seasons import find_season
from services.rating.section import Section

KEPT_VERSIONS: Final = 20_000
"""How far back it can be told who has changed."""


class BoardMissing(Unavailable):
    """The database has lost the row of a board, which comes with the start of its season."""

    reason = "BOARD_MISSING"

    @classmethod
    def of(cls, board: Board) -> "BoardMissing":
        """The error about that board."""
        return cls(
            f"the board of ladder {board.ladder.name} in season {board.season} is missing: an "
            "operator mends it with okeyctl rating rebuild --repair"
        )


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which state of a board a copy is of; versions compare only within an epoch."""

    epoch: str
    version: int


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a player stands on a board."""

    player_id: str
    section: Section
    standing: Standing


def read_stamp(connection: Connection, board: Board) -> Stamp:
    """What the newest state of a board is. Raises ``BoardMissing``."""
    row = connection.execute(
        select(boards.c.epoch, boards.c.version).where(
            boards.c.season == board.season, boards.c.ladder == board.ladder
        )
    ).one_or_none()
    if row is None:
        raise BoardMissing.of(board)
    return Stamp(row.epoch, row.version)


def read_changed(
    connection: Connection, board: Board, since: Stamp, limit: int
) -> tuple[Stamp, list[Stand] | None]:
    """The newest state, and where everybody stands who has changed since another.

    None if the other state is of another epoch, from the future, too old, if more than ``limit``
    players have changed, or if the board's season does not run any more.
    """
    now = read_stamp(connection, board)
    oldest = now.version - KEPT_VERSIONS
    if since.epoch != now.epoch or not oldest < since.version <= now.version:
        return now, None
    if find_season(connection, board.season).ended_ms is not None:
        return now, None
    if since == now:
        return now, []
    changed = (
        select(board_changes.c.player_id)
        .where(
            board_changes.c.season == board.season,
            board_changes.c.ladder == board.ladder,
            board_changes.c.version > since.version,
        )
        .distinct()
        .limit(limit + 1)
    )
    players = connection.execute(changed).scalars().all()
    if len(players) > limit:
        return now, None
    return now, _read_stands(connection, board, players)


def read_everybody(connection: Connection, board: Board, after: str, size: int) -> list[Stand]:
    """The next ``size`` players of a board by their ids."""
    rows = connection.execute(
        select(ratings)
        .where(
            ratings.c.ladder == board.ladder,
            ratings.c.player_id > after,
            ratings.c.season == board.season,
            ratings.c.section != Section.UNRANKED,
        )
        .order_by(ratings.c.player_id)
        .limit(size)
    )
    return [_stand(row) for row in rows]


def forget_old_changes(connection: Connection) -> None:
    """Delete who changed so long ago that ``read_changed`` does not look there."""
    running = find_season(connection, 0).season
    connection.execute(delete(board_changes).where(board_changes.c.season < running))
    for ladder in Ladder:
        newest = read_stamp(connection, Board(running, ladder)).version
        connection.execute(
            delete(board_changes).where(
                board_changes.c.season == running,
                board_changes.c.ladder == ladder,
                board_changes.c.version <= newest - KEPT_VERSIONS,
            )
        )


def _read_stands(connection: Connection, board: Board, players: Sequence[str]) -> list[Stand]:
    rows = connection.execute(
        select(ratings).where(
            ratings.c.ladder == board.ladder,
            ratings.c.player_id.in_(players),
            ratings.c.season == board.season,
        )
    )
    return [_stand(row) for row in rows]


def _stand(row: Row[*tuple[object, ...]]) -> Stand:
    standing = Standing(row.rating_milli, row.rated_matches)
    return Stand(row.player_id, Section(row.section), standing)
