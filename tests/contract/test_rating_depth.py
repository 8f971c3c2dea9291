"""What a rank or a page costs does not depend on how far down it is: counted, not timed."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Connection, event, insert

from okey.rating import Ladder
from okey_runtime.database import Database
from services.rating.counting import Board, recount
from services.rating.place import Place
from services.rating.ranking import read_page, read_page_around, read_rank
from services.rating.schema import ratings
from services.rating.section import Section
from tests.contract.rating_play import database, database_url

__all__ = ["database", "database_url"]

PLAYERS = 20_000
BOARD = Board(1, Ladder.CANAK)
TOP, MIDDLE, BOTTOM = 5, PLAYERS // 2, PLAYERS - 6
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

Work = Callable[[Connection, int], object]


def milli_of(index: int) -> int:
    """Ratings that fall from the top; half of all players share two of them."""
    if PLAYERS // 4 <= index < PLAYERS // 2:
        return 1_400_000
    if PLAYERS // 2 <= index < PLAYERS * 3 // 4:
        return 1_200_000
    return 2_000_000 - 60 * index


def fill(connection: Connection) -> None:
    rows = [
        {
            "ladder": BOARD.ladder.value,
            "player_id": f"p{index:06}",
            "season": BOARD.season,
            "rating_milli": milli_of(index),
            "rated_matches": 30,
            "section": Section.ESTABLISHED.value,
        }
        for index in range(PLAYERS)
    ]
    connection.execute(insert(ratings), rows)
    recount(connection, BOARD)


@pytest.fixture
async def board(database: Database) -> Database:
    await database.transact(fill)
    return database


async def steps(board: Database, work: Work, index: int) -> int:
    """How many instructions of SQLite's machine the work takes."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    def counted(connection: Connection) -> int:
        driver = connection.connection.driver_connection
        assert driver is not None
        work(connection, index)
        before = count
        driver.set_progress_handler(step, 1)
        work(connection, index)
        driver.set_progress_handler(None, 1)
        return count - before

    return await board.read(counted)


def rank(connection: Connection, index: int) -> object:
    return read_rank(connection, BOARD, f"p{index:06}")


def around(connection: Connection, index: int) -> object:
    return read_page_around(connection, BOARD, f"p{index:06}", 20)


def page(connection: Connection, index: int) -> object:
    place = Place(milli_of(index), f"p{index:06}")
    return read_page(connection, BOARD, Section.ESTABLISHED, place, 20)


@pytest.mark.parametrize("work", [rank, around, page], ids=lambda work: work.__name__)
async def test_the_depth_does_not_matter(board: Database, work: Work) -> None:
    """At the top, among thousands of equals in the middle, and at the bottom."""
    taken = [await steps(board, work, index) for index in (TOP, MIDDLE, BOTTOM)]
    assert min(taken) > 50, "nothing was counted"
    # 381 numbers are added up at most; looking at everybody would take ten thousands of steps.
    assert max(taken) < 6_000


@pytest.mark.parametrize(
    ("work", "most"), [(rank, 1), (page, 2), (around, 3)], ids=["rank", "page", "around"]
)
async def test_a_read_asks_the_database_few_questions(
    board: Database, work: Work, most: int
) -> None:
    """Each of them costs the service more than the database."""
    asked: list[str] = []

    def counted(connection: Connection) -> None:
        event.listen(connection, "before_cursor_execute", note)
        work(connection, MIDDLE)
        event.remove(connection, "before_cursor_execute", note)

    def note(*said: object) -> None:
        asked.append(str(said[2]))

    await board.read(counted)
    assert 0 < len(asked) <= most, asked


async def test_ranks_at_any_depth_are_right(board: Database) -> None:
    """Equals share the place of the first of them."""
    for index in (0, TOP, MIDDLE - 1, MIDDLE, MIDDLE + 1, BOTTOM, PLAYERS - 1):
        player = f"p{index:06}"
        above = sum(milli_of(each) > milli_of(index) for each in range(PLAYERS))
        found = await board.read(partial(read_rank, board=BOARD, player_id=player))
        assert (found.entry.rank, found.players) == (1 + above, PLAYERS)
        page = await board.read(partial(read_page_around, board=BOARD, player_id=player, size=5))
        ranks = {entry.player_id: entry.rank for entry in page.entries}
        assert ranks[player] == 1 + above
