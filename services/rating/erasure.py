"""Taking a player off the boards for good.

The recorded matches stay, and so do its changes: the others' ratings follow from them. What is gone
is every place on a board, and whatever was shown of the player.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from okey.rating import Ladder
from okey_runtime.erasable import refuse_unknown
from services.rating.booking import move_boards
from services.rating.counting import Board, Move
from services.rating.schema import erased_players, ratings
from services.rating.seasons import lock_running_season
from services.rating.section import Section
from services.rating.standings import is_rated, lock_players, read_erased


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Who shall be erased, by whom, why and when; ``allow_unknown`` takes one in who never had a
    rated match.
    """

    player_id: str
    actor: str
    reason: str
    now_ms: int
    allow_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """Whether the player was not erased before, and how many places on boards it had."""

    changed: bool
    places: int


def erase(connection: Connection, asked: Erase) -> Erased:
    """Take the player off every board of every season; again it changes nothing.

    Raises ``PlayerUnknown``.
    """
    is_known = is_rated(connection, asked.player_id)
    season = lock_running_season(connection)
    lock_players(connection, list(Ladder), [asked.player_id], season)
    is_new = not read_erased(connection, [asked.player_id])
    is_allowed = asked.allow_unknown or not is_new
    refuse_unknown(asked.player_id, is_known=is_known, is_allowed=is_allowed)
    if is_new:
        connection.execute(
            insert(erased_players).values(
                player_id=asked.player_id,
                erased_ms=asked.now_ms,
                erased_by=asked.actor,
                reason=asked.reason,
            )
        )
    listed = (ratings.c.player_id == asked.player_id) & (ratings.c.section != Section.UNRANKED)
    moves = [
        Move(
            Board(row.season, Ladder(row.ladder)),
            asked.player_id,
            Section(row.section),
            row.rating_milli,
            Section.UNRANKED,
            row.rating_milli,
        )
        for row in connection.execute(select(ratings).where(listed))
    ]
    connection.execute(update(ratings).where(listed).values(section=Section.UNRANKED.value))
    move_boards(connection, moves)
    return Erased(is_new, len(moves))
