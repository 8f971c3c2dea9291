"""Ranks and pages of a board from the database: what they cost does not depend on the depth.

A page is read from its place on, along the index; its ranks come from the counts.
"""

from typing import Final

from sqlalchemy import Connection, Select, select

from okey.rating import Standing
from services.rating.counting import Board, count_above, count_equal, count_players
from services.rating.place import BoardPage, NotRanked, Place, Rank, RankedPlayer
from services.rating.schema import ratings
from services.rating.section import Section

_Found = list[tuple[str, Standing]]

_Query = Select[str, int, int]


def read_rank(connection: Connection, board: Board, player_id: str) -> Rank:
    """The player's place, or ``NotRanked``."""
    section, standing = _find(connection, board, player_id)
    above = count_above(connection, board, section, standing.rating_milli)
    entry = RankedPlayer(1 + above, player_id, standing)
    return Rank(board.season, entry, section, count_players(connection, board, section))


def read_page(
    connection: Connection, board: Board, section: Section, start: Place | None, size: int
) -> BoardPage:
    """The ``size`` players after ``start``, from the top if it is None."""
    if start is None:
        found = _read(connection, _listed(board, section).order_by(*_DOWNWARDS).limit(size + 1))
    else:
        found = _below(connection, board, section, start, size + 1)
    return _page(connection, board, section, found, size)


def read_page_around(connection: Connection, board: Board, player_id: str, size: int) -> BoardPage:
    """The ``size`` players with ``player_id`` in the middle where the board is long enough."""
    section, standing = _find(connection, board, player_id)
    place = Place(standing.rating_milli, player_id)
    found = _above(connection, board, section, place, (size - 1) // 2)
    found.append((player_id, standing))
    found.extend(_below(connection, board, section, place, size + 1 - len(found)))
    return _page(connection, board, section, found, size)


_DOWNWARDS: Final = (ratings.c.rating_milli.desc(), ratings.c.player_id)
_UPWARDS: Final = (ratings.c.rating_milli, ratings.c.player_id.desc())


def _find(connection: Connection, board: Board, player_id: str) -> tuple[Section, Standing]:
    row = connection.execute(
        select(ratings).where(
            ratings.c.ladder == board.ladder,
            ratings.c.player_id == player_id,
            ratings.c.season == board.season,
            ratings.c.section != Section.UNRANKED,
        )
    ).one_or_none()
    if row is None:
        raise NotRanked.on(player_id, board.ladder, board.season)
    return Section(row.section), Standing(row.rating_milli, row.rated_matches)


def _below(
    connection: Connection, board: Board, section: Section, place: Place, size: int
) -> _Found:
    """The ``size`` players after a place, downwards: its equals first, then the rest.

    Two questions, because a database looks at everybody above for an answer to both in one.
    """
    equal = _equals(board, section, place).where(ratings.c.player_id > place.player_id)
    found = _read(connection, equal.order_by(ratings.c.player_id).limit(size))
    if len(found) < size:
        lower = _listed(board, section).where(ratings.c.rating_milli < place.rating_milli)
        rest = lower.order_by(*_DOWNWARDS).limit(size - len(found))
        found.extend(_read(connection, rest))
    return found


def _above(
    connection: Connection, board: Board, section: Section, place: Place, size: int
) -> _Found:
    """The ``size`` players before a place, downwards."""
    equal = _equals(board, section, place).where(ratings.c.player_id < place.player_id)
    found = _read(connection, equal.order_by(ratings.c.player_id.desc()).limit(size))
    if len(found) < size:
        higher = _listed(board, section).where(ratings.c.rating_milli > place.rating_milli)
        rest = higher.order_by(*_UPWARDS).limit(size - len(found))
        found.extend(_read(connection, rest))
    return found[::-1]


def _page(
    connection: Connection, board: Board, section: Section, found: _Found, size: int
) -> BoardPage:
    """Rank the first ``size`` players; one more found tells that there is a next page."""
    if not found:
        return BoardPage(board.season, section, (), None)
    top = found[0][1].rating_milli
    rank = 1 + count_above(connection, board, section, top)
    after_equals = rank + count_equal(connection, board, section, top)
    equals = sum(standing.rating_milli == top for _, standing in found[:size])
    entries: list[RankedPlayer] = []
    for position, (player_id, standing) in enumerate(found[:size]):
        if entries and entries[-1].standing.rating_milli != standing.rating_milli:
            rank = after_equals + position - equals
        entries.append(RankedPlayer(rank, player_id, standing))
    last = Place(entries[-1].standing.rating_milli, entries[-1].player_id)
    following = last if len(found) > size else None
    return BoardPage(board.season, section, tuple(entries), following)


def _listed(board: Board, section: Section) -> _Query:
    return select(ratings.c.player_id, ratings.c.rating_milli, ratings.c.rated_matches).where(
        ratings.c.season == board.season,
        ratings.c.ladder == board.ladder,
        ratings.c.section == section,
    )


def _equals(board: Board, section: Section, place: Place) -> _Query:
    return _listed(board, section).where(ratings.c.rating_milli == place.rating_milli)


def _read(connection: Connection, query: _Query) -> _Found:
    return [
        (row.player_id, Standing(row.rating_milli, row.rated_matches))
        for row in connection.execute(query)
    ]
