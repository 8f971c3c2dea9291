"""Where each season ended, held against the starts of seasons.

A season ended when the next one started, and the last one runs.
"""

from collections.abc import Iterator
from itertools import pairwise

from sqlalchemy import Connection, update

from services.rating.difference import Difference, DifferenceKind
from services.rating.schema import seasons
from services.rating.seasons import read_seasons


def compare_ends(connection: Connection, *, repair: bool) -> Iterator[Difference]:
    """Tell the ends of seasons that are not as they must be; with ``repair`` mend each."""
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
