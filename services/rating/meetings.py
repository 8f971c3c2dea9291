"""How often two players were rated against each other lately (R7).

A meeting counts for every later record whose match ended less than ``meetings_window_ms`` from it,
on whichever ladder. Records that share a player are numbered in the order of their effects, so the
count of a record never changes once it is made, however late other reports come.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from sqlalchemy import Connection, func, insert, select

from okey.rating import MatchRating, Pair
from services.rating.schema import meetings


def count_meetings(
    connection: Connection,
    owners: Mapping[int, str],
    ended_ms: int,
    window_ms: int,
    before_record: int | None = None,
) -> dict[Pair, int]:
    """How often the players of each two seats met before; none at all without a window.

    ``before_record`` leaves out what was recorded from that record on.
    """
    if not window_ms:
        return {}
    pairs = {_players(owners, pair): pair for pair in combinations(sorted(owners), 2)}
    players = sorted(set(owners.values()))
    query = (
        select(meetings.c.low_player, meetings.c.high_player, func.count().label("times"))
        .where(
            meetings.c.low_player.in_(players),
            meetings.c.high_player.in_(players),
            meetings.c.ended_ms > ended_ms - window_ms,
            meetings.c.ended_ms < ended_ms + window_ms,
        )
        .group_by(meetings.c.low_player, meetings.c.high_player)
    )
    if before_record is not None:
        query = query.where(meetings.c.record_id < before_record)
    rows = connection.execute(query)
    return {pairs[row.low_player, row.high_player]: row.times for row in rows}


def keep_meetings(
    connection: Connection,
    record_id: int,
    ended_ms: int,
    owners: Mapping[int, str],
    rating: MatchRating,
) -> None:
    """Note who was rated against whom by the record."""
    rows = [
        {"low_player": low, "high_player": high, "ended_ms": ended_ms, "record_id": record_id}
        for low, high in met(owners, rating)
    ]
    if rows:
        connection.execute(insert(meetings), rows)


def met(owners: Mapping[int, str], rating: MatchRating) -> Sequence[tuple[str, str]]:
    """Who was rated against whom, as the table keeps it."""
    return [_players(owners, pair) for pair in rating.met]


def read_meetings(
    connection: Connection, record_ids: Iterable[int]
) -> dict[int, set[tuple[str, str, int]]]:
    """The rows of these records: both players, and when their match ended."""
    query = select(meetings).where(meetings.c.record_id.in_(list(record_ids)))
    found: dict[int, set[tuple[str, str, int]]] = {}
    for row in connection.execute(query):
        of_record = found.setdefault(row.record_id, set())
        of_record.add((row.low_player, row.high_player, row.ended_ms))
    return found


def _players(owners: Mapping[int, str], pair: Pair) -> tuple[str, str]:
    low, high = sorted(owners[seat] for seat in pair)
    return low, high
