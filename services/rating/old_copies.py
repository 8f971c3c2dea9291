"""What replicas of the release before need while they run beside this one.

They read ranks from copies in Redis, which are up to date as long as a board's version says so. The
next release drops this module, and its tables ``boards`` and ``board_changes``.
"""

import secrets
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, insert, update

from okey.rating import Ladder
from services.rating.counting import Board
from services.rating.schema import boards

_TOO_FAR: Final = 20_001
"""A copy that is this many versions behind answers nothing: the database does."""


def outdate(connection: Connection, changed: Iterable[Board]) -> None:
    """Leave the copies of these boards too far behind to answer."""
    for board in sorted(changed):
        connection.execute(
            update(boards)
            .where(boards.c.season == board.season, boards.c.ladder == board.ladder)
            .values(version=boards.c.version + _TOO_FAR)
        )


def add_boards(connection: Connection, season: int) -> None:
    """Add what replicas of the release before look for in a season that starts."""
    connection.execute(
        insert(boards),
        [
            {
                "season": season,
                "ladder": ladder.value,
                "epoch": secrets.token_hex(8),
                "version": 0,
            }
            for ladder in Ladder
        ],
    )
