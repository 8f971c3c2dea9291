"""Every rank and page of a small board is what sorting all its players gives, on both databases."""

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, insert

from okey.rating import Ladder, Standing
from okey_runtime.database import Database
from services.rating.counting import Board, recount
from services.rating.place import BoardPage, Place, Rank, RankedPlayer
from services.rating.ranking import read_page, read_page_around, read_rank
from services.rating.schema import ratings
from services.rating.section import Section
from tests.contract.rating_play import database, database_url

__all__ = ["database", "database_url"]

BOARD = Board(1, Ladder.CANAK)
SIZES = (1, 2, 3, 4, 7, 40)
MILLIS = (-300_000, -1, 0, 1, 127, 128, 16_384, 1_199_999, 1_200_000, 2_097_151, 2_097_152)
"""Ratings at both sides of the ends of buckets, so that many players share each."""

Sorted = dict[Section, list[RankedPlayer]]


def fill(connection: Connection) -> Sorted:
    """Thirty players in both sections, others that count nowhere; each section in order."""
    chance = random.Random(14)
    rows = [
        {
            "ladder": ladder,
            "player_id": f"{'Pp'[number % 2]}{number}",
            "season": 1,
            "rating_milli": chance.choice(MILLIS),
            "rated_matches": 1 + number,
            "section": section,
        }
        for ladder, section, numbers in (
            (BOARD.ladder, Section.ESTABLISHED, range(20)),
            (BOARD.ladder, Section.PROVISIONAL, range(20, 30)),
            (BOARD.ladder, Section.UNRANKED, range(30, 35)),
            (Ladder.OVERALL, Section.ESTABLISHED, range(35)),
        )
        for number in numbers
    ]
    connection.execute(insert(ratings), rows)
    for ladder in Ladder:
        recount(connection, Board(1, ladder))
    return {
        section: list(
            ranked(
                [row for row in rows if (row["ladder"], row["section"]) == (BOARD.ladder, section)]
            )
        )
        for section in (Section.ESTABLISHED, Section.PROVISIONAL)
    }


def ranked(rows: list[dict[str, object]]) -> Iterator[RankedPlayer]:
    """The players of one section in order."""
    standings = {
        str(row["player_id"]): Standing(
            int(str(row["rating_milli"])), int(str(row["rated_matches"]))
        )
        for row in rows
    }
    for player_id in sorted(standings, key=lambda each: (-standings[each].rating_milli, each)):
        mine = standings[player_id]
        above = sum(each.rating_milli > mine.rating_milli for each in standings.values())
        yield RankedPlayer(1 + above, player_id, mine)


def page_of(section: Section, players: list[RankedPlayer], first: int, size: int) -> BoardPage:
    """Some players as a page."""
    entries = tuple(players[first : first + size])
    following = None
    if first + size < len(players):
        following = Place(entries[-1].standing.rating_milli, entries[-1].player_id)
    return BoardPage(BOARD.season, section, entries, following)


async def test_ranks_and_pages_are_those_of_a_sorted_list(database: Database) -> None:
    boards = await database.transact(fill)

    def compare(connection: Connection) -> int:
        asked = 0
        for section, players in boards.items():
            for index, player in enumerate(players):
                rank = read_rank(connection, BOARD, player.player_id)
                assert rank == Rank(BOARD.season, player, section, len(players))
                place = Place(player.standing.rating_milli, player.player_id)
                for size in SIZES:
                    found = read_page_around(connection, BOARD, player.player_id, size)
                    first = max(0, index - (size - 1) // 2)
                    assert found == page_of(section, players, first, size)
                    found = read_page(connection, BOARD, section, place, size)
                    assert found == page_of(section, players, index + 1, size)
                    asked += 1
            for size in SIZES:
                found = read_page(connection, BOARD, section, None, size)
                assert found == page_of(section, players, 0, size)
        return asked

    assert await database.read(compare) == 30 * len(SIZES)


@pytest.mark.parametrize("rating_milli", [-400_000, 64, 3_000_000])
async def test_a_page_goes_on_from_a_place_where_nobody_stands(
    database: Database, rating_milli: int
) -> None:
    """Who has moved since the page before is no landmark any more."""
    players = (await database.transact(fill))[Section.ESTABLISHED]
    place = Place(rating_milli, "nobody")
    first = sum(each.standing.rating_milli > rating_milli for each in players)
    found = await database.read(
        lambda connection: read_page(connection, BOARD, Section.ESTABLISHED, place, 5)
    )
    assert found == page_of(Section.ESTABLISHED, players, first, 5)
