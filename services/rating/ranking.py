"""Ranks and pages of a board from the database: what they cost does not depend on the depth.

A page is read from its place on, along the index; its ranks come from the counts. The statements
are built once, because building one costs more than asking it.
"""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Executable,
    Row,
    Select,
    SmallInteger,
    String,
    bindparam,
    select,
    union_all,
)

from okey.rating import Standing
from services.rating.counting import Board, players_above, players_at, players_in
from services.rating.place import BoardPage, NotRanked, Place, Rank, RankedPlayer
from services.rating.schema import ratings
from services.rating.section import Section

_Found = list[tuple[str, Standing]]

_Query = Select[str, int, int]

_SECTION: Final = bindparam("of_section", type_=SmallInteger)
_MILLI: Final = bindparam("of_milli", type_=BigInteger)
_PLAYER: Final = bindparam("of_player", type_=String)
_ABOVE: Final = bindparam("above", type_=BigInteger)
_BELOW: Final = bindparam("below", type_=BigInteger)

_ON_BOARD: Final = (
    ratings.c.season == bindparam("of_season"),
    ratings.c.ladder == bindparam("of_ladder"),
)
_LISTED: Final = select(ratings.c.player_id, ratings.c.rating_milli, ratings.c.rated_matches).where(
    *_ON_BOARD, ratings.c.section == _SECTION
)


def _part(condition: ColumnElement[bool], size: ColumnElement[int], *, is_above: bool) -> _Query:
    """Some neighbours of a place, those next to it first."""
    found = _LISTED.where(condition).limit(size)
    if is_above:
        found = found.order_by(ratings.c.rating_milli, ratings.c.player_id.desc())
    else:
        found = found.order_by(ratings.c.rating_milli.desc(), ratings.c.player_id)
    part = found.subquery()
    return select(part.c.player_id, part.c.rating_milli, part.c.rated_matches)


# A place's equals and the others apart: a database looks at everybody above for both in one.
_EQUAL: Final = ratings.c.rating_milli == _MILLI
_PARTS_ABOVE: Final = (
    _part(_EQUAL & (ratings.c.player_id < _PLAYER), _ABOVE, is_above=True),
    _part(ratings.c.rating_milli > _MILLI, _ABOVE, is_above=True),
)
_PARTS_BELOW: Final = (
    _part(_EQUAL & (ratings.c.player_id > _PLAYER), _BELOW, is_above=False),
    _part(ratings.c.rating_milli < _MILLI, _BELOW, is_above=False),
)
_FROM_TOP: Final = _part(ratings.c.section != Section.UNRANKED, _BELOW, is_above=False)
_AFTER: Final = union_all(*_PARTS_BELOW)
_AROUND: Final = union_all(*_PARTS_ABOVE, *_PARTS_BELOW)

_STAND: Final = select(ratings.c.section, ratings.c.rating_milli, ratings.c.rated_matches).where(
    *_ON_BOARD, ratings.c.player_id == _PLAYER, ratings.c.section != Section.UNRANKED
)
_RANKED_STAND: Final = _STAND.add_columns(
    (1 + players_above(ratings.c.section, ratings.c.rating_milli)).label("rank"),
    players_in(ratings.c.section).label("players"),
)
_RANK: Final = select(
    (1 + players_above(_SECTION, _MILLI)).label("rank"), players_at(_SECTION, _MILLI).label("equal")
)


def read_rank(connection: Connection, board: Board, player_id: str) -> Rank:
    """The player's place, or ``NotRanked``."""
    row = _find(connection, _RANKED_STAND, board, player_id)
    entry = RankedPlayer(int(row.rank), player_id, Standing(row.rating_milli, row.rated_matches))
    return Rank(board.season, entry, Section(row.section), int(row.players))


def read_page(
    connection: Connection, board: Board, section: Section, start: Place | None, size: int
) -> BoardPage:
    """The ``size`` players after ``start``, from the top if it is None."""
    asked = {**_of(board), "of_section": section.value, "below": size + 1}
    if start is None:
        found = _listed(connection.execute(_FROM_TOP, asked))
    else:
        asked |= {"of_milli": start.rating_milli, "of_player": start.player_id}
        found = _listed(connection.execute(_AFTER, asked))
    return _page(connection, board, section, found[: size + 1], size)


def read_page_around(connection: Connection, board: Board, player_id: str, size: int) -> BoardPage:
    """The ``size`` players with ``player_id`` in the middle where the board is long enough."""
    row = _find(connection, _STAND, board, player_id)
    asked = {
        **_of(board),
        "of_section": row.section,
        "of_milli": row.rating_milli,
        "of_player": player_id,
        "above": (size - 1) // 2,
        "below": size,
    }
    player = (player_id, Standing(row.rating_milli, row.rated_matches))
    found = _listed(connection.execute(_AROUND, asked), player)
    first = max(0, found.index(player) - (size - 1) // 2)
    return _page(connection, board, Section(row.section), found[first : first + size + 1], size)


def _of(board: Board) -> dict[str, int | str]:
    return {"of_season": board.season, "of_ladder": board.ladder.value}


def _find(
    connection: Connection, query: Executable, board: Board, player_id: str
) -> Row[*tuple[Any, ...]]:
    row = connection.execute(query, {**_of(board), "of_player": player_id}).one_or_none()
    if row is None:
        raise NotRanked.on(player_id, board.ladder, board.season)
    return row


def _listed(rows: Iterable[Row[*tuple[Any, ...]]], *players: tuple[str, Standing]) -> _Found:
    """These players in the board's order."""
    found = [(row.player_id, Standing(row.rating_milli, row.rated_matches)) for row in rows]
    return sorted([*found, *players], key=lambda each: (-each[1].rating_milli, each[0]))


def _page(
    connection: Connection, board: Board, section: Section, found: _Found, size: int
) -> BoardPage:
    """Rank the first ``size`` players; one more found tells that there is a next page."""
    if not found:
        return BoardPage(board.season, section, (), None)
    top = found[0][1].rating_milli
    asked = {**_of(board), "of_section": section.value, "of_milli": top}
    counted = connection.execute(_RANK, asked).one()
    # PostgreSQL's sums are decimals.
    rank = int(counted.rank)
    after_equals = rank + int(counted.equal)
    equals = sum(standing.rating_milli == top for _, standing in found[:size])
    entries: list[RankedPlayer] = []
    for position, (player_id, standing) in enumerate(found[:size]):
        if entries and entries[-1].standing.rating_milli != standing.rating_milli:
            rank = after_equals + position - equals
        entries.append(RankedPlayer(rank, player_id, standing))
    last = Place(entries[-1].standing.rating_milli, entries[-1].player_id)
    following = last if len(found) > size else None
    return BoardPage(board.season, section, tuple(entries), following)
