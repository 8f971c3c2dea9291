"""Writing what a record changes: history, ratings, sinks and the counts of boards."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, func, insert, select, update

from okey.rating import ChangeKind, Ladder, MatchRating, Sink, Standing
from okey.rules.rule_set import RuleSet
from services.rating.counting import Board, Move, count_moves
from services.rating.old_copies import outdate
from services.rating.record import SinkAmount
from services.rating.schema import (
    history,
    ratings,
    seasons,
    sink_postings,
)
from services.rating.section import Section, section_of
from services.rating.standings import Entry

_MOVE_RATING: Final = (
    update(ratings)
    .where(
        ratings.c.ladder == bindparam("of_ladder"),
        ratings.c.player_id == bindparam("of_player"),
        ratings.c.season == bindparam("of_season"),
    )
    .values(
        rating_milli=bindparam("to_milli"),
        rated_matches=bindparam("to_matches"),
        section=bindparam("to_section"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """What all rows of one record share; ``owners`` names the players by seat."""

    record_id: int
    season: int
    match_id: str
    occurred_ms: int
    owners: Mapping[int, str]
    rules: RuleSet


@dataclass(slots=True)
class _Rows:
    """What is to be written, by table."""

    changes: list[dict[str, object]] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    standings: list[dict[str, object]] = field(default_factory=list)
    sinks: Counter[tuple[Ladder, Sink]] = field(default_factory=Counter)


def book(
    connection: Connection,
    booking: Booking,
    by_ladder: Mapping[Ladder, MatchRating],
    entries: Mapping[Ladder, Mapping[str, Entry]],
) -> None:
    """Write every change, first the soft reset of who enters the season with it.

    The rows of the players are locked, and ``entries`` is what they have. The boards'
    counts come last, because everybody who records a match waits for them.
    """
    rows = _Rows()
    numbers = _last_numbers(connection, booking, by_ladder)
    for ladder, rating in by_ladder.items():
        _collect(connection, booking, ladder, rating, entries[ladder], numbers, rows)
    if rows.changes:
        connection.execute(insert(history), rows.changes)
        connection.execute(_MOVE_RATING, rows.standings)
    postings = [
        SinkAmount(ladder, sink, amount) for (ladder, sink), amount in rows.sinks.items() if amount
    ]
    if postings:
        connection.execute(
            insert(sink_postings),
            [
                {
                    "record_id": booking.record_id,
                    "ladder": posting.ladder.value,
                    "sink": posting.sink.value,
                    "amount_milli": posting.amount_milli,
                }
                for posting in postings
            ],
        )
    move_boards(connection, rows.moves)


def _collect(
    connection: Connection,
    booking: Booking,
    ladder: Ladder,
    rating: MatchRating,
    entries: Mapping[str, Entry],
    numbers: Mapping[tuple[int, str], int],
    rows: _Rows,
) -> None:
    """Gather what one ladder's rating of a record changes."""
    rows.sinks[ladder, rating.sink] += rating.sink_milli
    for change in rating.changes:
        player_id = booking.owners[change.seat]
        entry, number = entries[player_id], numbers.get((ladder, player_id), 0)
        common: dict[str, object] = {
            "ladder": ladder.value,
            "player_id": player_id,
            "season": booking.season,
            "record_id": booking.record_id,
        }
        if entry.last is not None and entry.is_behind:
            number += 1
            reset = entry.standing.rating_milli - entry.last.standing.rating_milli
            rows.sinks[ladder, Sink.SEASONS] -= reset
            moment_ms = _start_of(connection, booking.season)
            rows.changes.append(common | _reset(number, entry.last.standing, reset, moment_ms))
        after = entry.standing.after(change.delta_milli)
        rows.changes.append(
            common
            | {
                "change_no": number + 1,
                "kind": change.kind.value,
                "match_id": booking.match_id,
                "rating_before_milli": entry.standing.rating_milli,
                "delta_milli": change.delta_milli,
                "rated_matches": after.rated_matches,
                "occurred_ms": booking.occurred_ms,
            }
        )
        _collect_move(booking, ladder, player_id, entry, after, rows)


def _reset(number: int, before: Standing, delta_milli: int, moment_ms: int) -> dict[str, object]:
    """A soft reset as a change: of no match, at the season's start."""
    return {
        "change_no": number,
        "kind": ChangeKind.SEASON_RESET.value,
        "match_id": None,
        "rating_before_milli": before.rating_milli,
        "delta_milli": delta_milli,
        "rated_matches": before.rated_matches,
        "occurred_ms": moment_ms,
    }


def _collect_move(
    booking: Booking, ladder: Ladder, player_id: str, entry: Entry, after: Standing, rows: _Rows
) -> None:
    # A late report of somebody who was erased meanwhile lists nobody.
    to_section = Section.UNRANKED if entry.is_erased else section_of(after, booking.rules)
    rows.moves.append(
        Move(
            Board(booking.season, ladder),
            player_id,
            entry.section,
            entry.standing.rating_milli,
            to_section,
            after.rating_milli,
        )
    )
    rows.standings.append(
        {
            "of_ladder": ladder.value,
            "of_player": player_id,
            "of_season": booking.season,
            "to_milli": after.rating_milli,
            "to_matches": after.rated_matches,
            "to_section": to_section.value,
        }
    )


def _last_numbers(
    connection: Connection, booking: Booking, ladders: Iterable[Ladder]
) -> dict[tuple[int, str], int]:
    """The number of each player's last change, by ladder and player."""
    rows = connection.execute(
        select(history.c.ladder, history.c.player_id, func.max(history.c.change_no).label("last"))
        .where(
            history.c.ladder.in_(list(ladders)),
            history.c.player_id.in_(list(booking.owners.values())),
        )
        .group_by(history.c.ladder, history.c.player_id)
    )
    return {(row.ladder, row.player_id): row.last for row in rows}


def _start_of(connection: Connection, season: int) -> int:
    query = select(seasons.c.started_ms).where(seasons.c.season == season)
    started_ms: int = connection.execute(query).scalar_one()
    return started_ms


def move_boards(connection: Connection, moves: Sequence[Move]) -> None:
    """Bring the counts of every board that changed up to date."""
    outdate(connection, {move.board for move in moves})
    count_moves(connection, moves)
