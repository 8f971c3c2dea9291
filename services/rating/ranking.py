"""Reading ratings and places: one player's, many players', the board in pages."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from okey.errors import InvalidInput, NotFound
from okey.rating import Ladder, Standing, starting_standing
from okey.rules.rule_set import RuleSet
from services.rating.schema import ratings


class NotRanked(NotFound):
    """The player has no rated match on the ladder, so no place either."""

    reason = "NOT_RANKED"


class PageTokenMalformed(InvalidInput):
    """A page token that this service never gave out."""

    reason = "PAGE_TOKEN_MALFORMED"


class Section(IntEnum):
    """Which part of a board a player stands in; UNRANKED has no rated match and stands nowhere."""

    UNRANKED = 0
    ESTABLISHED = 1
    PROVISIONAL = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page goes on: after this rating and player, in the board's order."""

    rating_milli: int
    player_id: str

    def token(self) -> str:
        """The place as opaque text for a page token."""
        text = json.dumps([self.rating_milli, self.player_id])
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def of_token(cls, token: str) -> "Place":
        """The place that ``token`` stands for, or ``PageTokenMalformed``."""
        try:
            rating_milli, player_id = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, TypeError, binascii.Error) as error:
            raise PageTokenMalformed(f"page_token {token!r}: send next_page_token") from error
        if not (isinstance(rating_milli, int) and isinstance(player_id, str)):
            raise PageTokenMalformed(f"page_token {token!r}: send next_page_token as it came")
        return cls(rating_milli, player_id)


@dataclass(frozen=True, slots=True)
class RankedPlayer:
    """A player on a board; equal ratings share a rank."""

    rank: int
    player_id: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class BoardPage:
    """A stretch of one section, highest first; ``next_place`` is None on the last page."""

    section: Section
    entries: tuple[RankedPlayer, ...]
    next_place: Place | None


@dataclass(frozen=True, slots=True)
class Rank:
    """A player's place in its section, and how many stand in it."""

    entry: RankedPlayer
    section: Section
    players: int


def section_of(standing: Standing, rules: RuleSet) -> Section:
    """Where a player with this standing is listed."""
    if standing.rated_matches == 0:
        return Section.UNRANKED
    return Section.PROVISIONAL if standing.is_provisional(rules) else Section.ESTABLISHED


def read_standings(
    connection: Connection, ladder: Ladder, player_ids: Sequence[str], rules: RuleSet
) -> list[Standing]:
    """The players' standings in the given order; who never played has the starting one."""
    rows = connection.execute(
        select(ratings.c.player_id, ratings.c.rating_milli, ratings.c.rated_matches).where(
            ratings.c.ladder == ladder, ratings.c.player_id.in_(player_ids)
        )
    )
    known = {row.player_id: Standing(row.rating_milli, row.rated_matches) for row in rows}
    return [known.get(player_id, starting_standing(rules)) for player_id in player_ids]


def read_rank(connection: Connection, ladder: Ladder, player_id: str) -> Rank:
    """The player's place, or ``NotRanked``."""
    section, place, standing = _find(connection, ladder, player_id)
    in_section = and_(ratings.c.ladder == ladder, ratings.c.section == section)
    rank = 1 + _count(connection, and_(in_section, ratings.c.rating_milli > place.rating_milli))
    entry = RankedPlayer(rank, player_id, standing)
    return Rank(entry, section, _count(connection, in_section))


def read_page(
    connection: Connection, ladder: Ladder, section: Section, start: Place | None, size: int
) -> BoardPage:
    """The ``size`` players after ``start``, from the top if it is None."""
    query = _listed(ladder, section).order_by(*_DOWNWARDS)
    if start is not None:
        query = query.where(_is_below(start))
    return _page(connection, ladder, section, _read(connection, query.limit(size + 1)), size)


def read_page_around(
    connection: Connection, ladder: Ladder, player_id: str, size: int
) -> BoardPage:
    """The ``size`` players with ``player_id`` in the middle where the board is long enough."""
    section, place, standing = _find(connection, ladder, player_id)
    listed = _listed(ladder, section)
    above = listed.where(_is_above(place)).order_by(*_UPWARDS).limit((size - 1) // 2)
    found = _read(connection, above)[::-1]
    found.append((player_id, standing))
    below = listed.where(_is_below(place)).order_by(*_DOWNWARDS).limit(size + 1 - len(found))
    found.extend(_read(connection, below))
    return _page(connection, ladder, section, found, size)


_DOWNWARDS: Final = (ratings.c.rating_milli.desc(), ratings.c.player_id)
_UPWARDS: Final = (ratings.c.rating_milli, ratings.c.player_id.desc())

_Listed = list[tuple[str, Standing]]


def _find(
    connection: Connection, ladder: Ladder, player_id: str
) -> tuple[Section, Place, Standing]:
    row = connection.execute(
        select(ratings).where(ratings.c.ladder == ladder, ratings.c.player_id == player_id)
    ).one_or_none()
    if row is None or row.section == Section.UNRANKED:
        raise NotRanked(f"player {player_id!r} has no rated match on ladder {ladder.name}")
    standing = Standing(row.rating_milli, row.rated_matches)
    return Section(row.section), Place(row.rating_milli, player_id), standing


def _page(
    connection: Connection, ladder: Ladder, section: Section, found: _Listed, size: int
) -> BoardPage:
    """Number the first ``size`` players; one more found tells that there is a next page."""
    if not found:
        return BoardPage(section, (), None)
    first = Place(found[0][1].rating_milli, found[0][0])
    listed = and_(ratings.c.ladder == ladder, ratings.c.section == section)
    rank = 1 + _count(connection, and_(listed, ratings.c.rating_milli > first.rating_milli))
    position = 1 + _count(connection, and_(listed, _is_above(first)))
    entries: list[RankedPlayer] = []
    for player_id, standing in found[:size]:
        if entries and entries[-1].standing.rating_milli != standing.rating_milli:
            rank = position + len(entries)
        entries.append(RankedPlayer(rank, player_id, standing))
    last = Place(entries[-1].standing.rating_milli, entries[-1].player_id)
    return BoardPage(section, tuple(entries), last if len(found) > size else None)


def _listed(ladder: Ladder, section: Section) -> Select[str, int, int]:
    return select(ratings.c.player_id, ratings.c.rating_milli, ratings.c.rated_matches).where(
        ratings.c.ladder == ladder, ratings.c.section == section
    )


def _read(connection: Connection, query: Select[str, int, int]) -> _Listed:
    return [
        (row.player_id, Standing(row.rating_milli, row.rated_matches))
        for row in connection.execute(query)
    ]


def _is_above(place: Place) -> ColumnElement[bool]:
    level = and_(
        ratings.c.rating_milli == place.rating_milli, ratings.c.player_id < place.player_id
    )
    return or_(ratings.c.rating_milli > place.rating_milli, level)


def _is_below(place: Place) -> ColumnElement[bool]:
    level = and_(
        ratings.c.rating_milli == place.rating_milli, ratings.c.player_id > place.player_id
    )
    return or_(ratings.c.rating_milli < place.rating_milli, level)


def _count(connection: Connection, condition: ColumnElement[bool]) -> int:
    return connection.execute(
        select(func.count()).select_from(ratings).where(condition)
    ).scalar_one()
