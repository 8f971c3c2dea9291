"""What stands around the ratings: where each season ended, and a board a season and ladder.

Both follow from the starts of seasons. A season ended when the next one started, and the last one
runs.
"""

import secrets
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from okey.rating import Ladder
from services.rating.difference import Difference, DifferenceKind
from services.rating.schema import board_changes, boards, seasons
from services.rating.seasons import read_seasons

_LADDERS: Final = {ladder.value for ladder in Ladder}


def compare_frame(connection: Connection, *, repair: bool) -> Iterator[Difference]:
    """Tell ends of seasons and boards that are not as they must be; with ``repair`` mend each."""
    yield from _compare_seasons(connection, repair=repair)
    yield from _compare_boards(connection, repair=repair)


def _compare_seasons(connection: Connection, *, repair: bool) -> Iterator[Difference]:
    """Each season ended where the next one started."""
    known = read_seasons(connection)
    ends = [following.started_ms for _, following in pairwise(known)]
    for season, end in zip(known, [*ends, None], strict=True):
        if season.ended_ms == end:
            continue
        yield Difference(
            kind=DifferenceKind.SEASON,
            subject=f"season {season.season}: its end",
            season=season.season,
            expected=end or 0,
            actual=season.ended_ms or 0,
        )
        if repair:
            connection.execute(
                update(seasons).where(seasons.c.season == season.season).values(ended_ms=end)
            )


def _compare_boards(connection: Connection, *, repair: bool) -> Iterator[Difference]:
    """None is missing, and none is of no ladder."""
    rows = connection.execute(select(boards.c.season, boards.c.ladder))
    stored = {(row.season, row.ladder) for row in rows}
    true = {(each.season, ladder) for each in read_seasons(connection) for ladder in _LADDERS}
    for season, ladder in sorted(true ^ stored):
        is_missing = (season, ladder) in true
        yield Difference(
            kind=DifferenceKind.BOARD,
            subject=f"board of ladder {ladder}",
            ladder=Ladder(ladder) if ladder in _LADDERS else None,
            season=season,
            expected=int(is_missing),
            actual=int(not is_missing),
        )
        if repair:
            _mend_board(connection, season, ladder, is_missing=is_missing)


def _mend_board(connection: Connection, season: int, ladder: int, *, is_missing: bool) -> None:
    # The versions start anew, and these would be taken for later ones.
    for table in (board_changes, boards):
        same = (table.c.season == season, table.c.ladder == ladder)
        connection.execute(delete(table).where(*same))
    if is_missing:
        connection.execute(
            insert(boards).values(
                season=season, ladder=ladder, epoch=secrets.token_hex(8), version=0
            )
        )
