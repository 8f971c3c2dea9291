"""Replicas of the release before, which read copies of the boards in Redis, never read an old one.

They compare the version that their copy is of with the board's, and take who changed in between
from ``board_changes``; a copy that is further behind than that reaches answers nothing.
"""

import pytest
from sqlalchemy import Connection, insert, select, text

from okey.rating import Ladder
from okey_runtime.database import Database
from services.rating.counting import Board
from services.rating.erasure import Erase
from services.rating.schema import board_changes, boards
from services.rating.seasons import Season
from services.rating.store import RatingStore
from tests.contract.rating_play import a_match, database, database_url, store

__all__ = ["database", "database_url", "store"]

KEPT_VERSIONS = 20_000
"""How far back ``board_changes`` reaches in the release before."""
CANAK = Board(1, Ladder.CANAK)
SECOND = Season(season=2, name="", keep_percent=50, towards_milli=1_200_000, started_ms=7)


async def version(database: Database, board: Board) -> int:
    """The newest version of a board."""
    query = select(boards.c.version).where(
        boards.c.season == board.season, boards.c.ladder == board.ladder
    )
    return await database.read(lambda connection: connection.execute(query).scalar_one())


async def answers(database: Database, board: Board, since: int) -> bool:
    """Whether a replica of the release before answers from its copy of that version."""
    now = await version(database, board)
    return now - KEPT_VERSIONS < since <= now


async def test_a_match_leaves_copies_of_its_boards_behind(
    store: RatingStore, database: Database
) -> None:
    klasik = Board(1, Ladder.KLASIK)
    since = {board: await version(database, board) for board in (CANAK, klasik)}
    assert await answers(database, CANAK, since[CANAK])
    await store.record_match(a_match(1, "ada", "bo"))
    assert not await answers(database, CANAK, since[CANAK])
    assert await answers(database, klasik, since[klasik])


@pytest.mark.parametrize("what", ["erasure", "repair"])
async def test_whatever_changes_a_board_leaves_its_copy_behind(
    store: RatingStore, database: Database, what: str
) -> None:
    await store.record_match(a_match(1, "ada", "bo"))
    since = await version(database, CANAK)
    if what == "erasure":
        await store.erase(Erase(player_id="ada", actor="op", reason="asked", now_ms=1))
    else:
        async for _ in store.rebuild(repair=True):
            pass
    assert not await answers(database, CANAK, since)


async def test_a_season_that_starts_takes_reports_of_the_release_before(
    store: RatingStore, database: Database
) -> None:
    """As that release books them: the next version, and who changed with it."""
    await store.start_season(SECOND)
    for ladder in Ladder:
        board = Board(2, ladder)

        def book(connection: Connection, board: Board = board) -> int:
            raised = connection.execute(
                text(
                    "UPDATE boards SET version = version + 1"
                    " WHERE season = :season AND ladder = :ladder RETURNING version"
                ),
                {"season": board.season, "ladder": board.ladder.value},
            ).scalar_one()
            connection.execute(
                insert(board_changes).values(
                    season=board.season,
                    ladder=board.ladder.value,
                    version=raised,
                    player_id="ada",
                )
            )
            return int(raised)

        assert await database.transact(book) == 1
