"""The first step of a rebuild: every event rated anew, and compared with what it changed.

An event is rated from the ratings that its changes say were there before. The second step holds
those against the changes before them, so that both together recompute everything from the start.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Row, func, select

from okey.errors import OkeyError
from okey.rating import (
    ChangeKind,
    Ladder,
    Participant,
    RatedMatch,
    Sink,
    Standing,
    rate_forfeit,
    rate_match,
    starting_standing,
)
from okey.rating.rate import MatchRating
from okey.rules.rule_set import RuleSet
from services.rating.difference import Difference, DifferenceKind, Progress, Tell
from services.rating.history import changed
from services.rating.meetings import count_meetings, met, read_meetings
from services.rating.record import (
    ForfeitRecord,
    MatchRecord,
    RatingChanged,
    content_hash,
    ladders_of,
)
from services.rating.rulebook import RuleBook
from services.rating.schema import history, records, sink_postings
from services.rating.seasons import Season, carry_over, read_seasons

STEP: Final = "records"
_PAGE: Final = 500
_LADDERS: Final = frozenset(ladder.value for ladder in Ladder)

_Record = Row[*tuple[object, ...]]


@dataclass(slots=True)
class _Page:
    """Some events, and what the database holds of them."""

    records: Sequence[_Record]
    changes: dict[int, list[RatingChanged]] = field(default_factory=lambda: defaultdict(list))
    sinks: dict[int, Counter[tuple[int, str]]] = field(default_factory=lambda: defaultdict(Counter))
    forfeits: dict[tuple[str, int, str], RatingChanged] = field(default_factory=dict)
    unreadable: list[Difference] = field(default_factory=list)
    meetings: dict[int, set[tuple[str, str, int]]] = field(default_factory=dict)


def rerate(connection: Connection, rules: RuleBook, tell: Tell) -> Iterator[Difference]:
    """Go through all events in the order of their effects."""
    total = connection.execute(select(func.count()).select_from(records)).scalar_one()
    known = read_seasons(connection)
    done, last = 0, 0
    while page := _read(connection, last):
        yield from page.unreadable
        for record in page.records:
            yield from _compare(connection, record, page, known, rules)
        done += len(page.records)
        last = page.records[-1].record_id
        tell(Progress(STEP, done, total))


def _read(connection: Connection, after: int) -> _Page | None:
    found = connection.execute(
        select(records)
        .where(records.c.record_id > after)
        .order_by(records.c.record_id)
        .limit(_PAGE)
    ).all()
    if not found:
        return None
    page, ids = _Page(found), [row.record_id for row in found]
    for row in connection.execute(select(history).where(history.c.record_id.in_(ids))):
        try:
            page.changes[row.record_id].append(changed(row))
        except ValueError as error:
            page.unreadable.append(_unreadable(row, error))
    for row in connection.execute(select(sink_postings).where(sink_postings.c.record_id.in_(ids))):
        page.sinks[row.record_id][row.ladder, row.sink] += row.amount_milli
    page.meetings = read_meetings(connection, ids)
    matches = {row.match_id for row in found}
    for row in connection.execute(
        select(history).where(
            history.c.match_id.in_(matches),
            history.c.kind == ChangeKind.FORFEIT,
            history.c.ladder.in_(list(Ladder)),
        )
    ):
        page.forfeits[row.match_id, row.ladder, row.player_id] = changed(row)
    return page


def _unreadable(row: _Record, error: ValueError) -> Difference:
    return Difference(
        kind=DifferenceKind.CHANGE,
        subject=f"{row.player_id}: change {row.change_no}: {error}",
        match_id=row.match_id or "",
        season=row.season,
        actual=row.delta_milli,
    )


def _compare(
    connection: Connection,
    record: _Record,
    page: _Page,
    known: Sequence[Season],
    rules: RuleBook,
) -> Iterator[Difference]:
    subject = f"event {record.record_id}"
    stored = page.changes[record.record_id]
    try:
        of_record = rules.of(record.rules_version)
        anew = _rate(connection, record, stored, page, known, of_record)
    except (OkeyError, ValueError, KeyError, TypeError) as error:
        yield Difference(
            kind=DifferenceKind.EVENT, subject=f"{subject}: {error}", match_id=record.match_id
        )
        return
    expected = Counter[tuple[int, str]]()
    for ladder, (owners, rating) in anew.items():
        of_ladder = [change for change in stored if change.ladder is ladder]
        expected[ladder, rating.sink] += rating.sink_milli
        for change in of_ladder:
            if change.kind is ChangeKind.SEASON_RESET:
                expected[ladder, Sink.SEASONS] -= change.delta_milli
        yield from _compare_changes(record, ladder, owners, rating, of_ladder)
        if ladder is Ladder.OVERALL:
            counted = met(owners, rating) if of_record.meetings_window_ms else []
            yield from _compare_meetings(record, counted, page)
    sinks = page.sinks[record.record_id]
    for key in sorted(expected.keys() | sinks.keys()):
        if expected[key] != sinks[key]:
            yield Difference(
                kind=DifferenceKind.SINK,
                subject=f"{subject}: {key[1]}",
                match_id=record.match_id,
                ladder=Ladder(key[0]) if key[0] in _LADDERS else None,
                expected=expected[key],
                actual=sinks[key],
            )


def _compare_meetings(
    record: _Record, counted: Sequence[tuple[str, str]], page: _Page
) -> Iterator[Difference]:
    """R7: who met by the event must be who was rated against each other by it, at its time."""
    expected = {(low, high, record.occurred_ms) for low, high in counted}
    actual = page.meetings.get(record.record_id, set())
    if expected != actual:
        odd = sorted(f"{low} and {high}" for low, high, _ in expected ^ actual)
        yield Difference(
            kind=DifferenceKind.MEETING,
            subject=f"event {record.record_id}: {odd[0]}",
            match_id=record.match_id,
            expected=len(expected),
            actual=len(actual),
        )


def _compare_changes(
    record: _Record,
    ladder: Ladder,
    owners: dict[int, str],
    rating: MatchRating,
    stored: list[RatingChanged],
) -> Iterator[Difference]:
    """Every player's change of an event on one ladder; no change counts as one of another kind."""
    expected = {owners[change.seat]: (change.kind, change.delta_milli) for change in rating.changes}
    actual = {
        change.player_id: (change.kind, change.delta_milli)
        for change in stored
        if change.kind is not ChangeKind.SEASON_RESET
    }
    for player_id in sorted(expected.keys() | actual.keys()):
        if expected.get(player_id) != actual.get(player_id):
            yield Difference(
                kind=DifferenceKind.CHANGE,
                subject=player_id,
                match_id=record.match_id,
                ladder=ladder,
                expected=expected.get(player_id, (None, 0))[1],
                actual=actual.get(player_id, (None, 0))[1],
            )
    for change in stored:
        if change.kind is ChangeKind.SEASON_RESET:
            continue
        if change.match_id != record.match_id:
            yield Difference(
                kind=DifferenceKind.EVENT,
                subject=f"event {record.record_id}: its change of {change.player_id} is of "
                "another match",
                match_id=change.match_id,
                ladder=ladder,
                season=change.season,
            )
        if change.occurred_ms != record.occurred_ms:
            yield Difference(
                kind=DifferenceKind.CHANGE,
                subject=f"{change.player_id}: the time of event {record.record_id}",
                match_id=change.match_id,
                ladder=ladder,
                season=change.season,
                expected=record.occurred_ms,
                actual=change.occurred_ms,
            )


def _rate(
    connection: Connection,
    record: _Record,
    stored: list[RatingChanged],
    page: _Page,
    known: Sequence[Season],
    rules: RuleSet,
) -> dict[Ladder, tuple[dict[int, str], MatchRating]]:
    """What the event gives on each of its ladders, with the players by seat.

    Raises ``OkeyError``, ``ValueError`` or ``KeyError`` for a content that was never written.
    """
    if content_hash(record.content) != record.content_hash:
        raise ValueError("its content is not the one that was recorded")
    if record.player_id:
        forfeit = ForfeitRecord.of_content(record.content, record.occurred_ms, record.rules_version)
        if (forfeit.match_id, forfeit.player_id) != (record.match_id, record.player_id):
            raise ValueError(f"its content is of {forfeit.player_id!r} in {forfeit.match_id}")
        rating = rate_forfeit(forfeit.seat, rules)
        return {
            ladder: ({forfeit.seat: forfeit.player_id}, rating)
            for ladder in ladders_of(forfeit.variant)
        }
    match = MatchRecord.of_content(record.content, record.occurred_ms, record.rules_version)
    if match.match_id != record.match_id:
        raise ValueError(f"its content is that of match {match.match_id}")
    owners = match.owners()
    before = count_meetings(
        connection, owners, match.ended_ms, rules.meetings_window_ms, record.record_id
    )
    return {
        ladder: (
            owners,
            rate_match(
                _rated_match(match, ladder, stored, page, known, rules),
                match.outcome,
                rules,
                before,
            ),
        )
        for ladder in ladders_of(match.variant)
    }


def _rated_match(
    match: MatchRecord,
    ladder: Ladder,
    stored: list[RatingChanged],
    page: _Page,
    known: Sequence[Season],
    rules: RuleSet,
) -> RatedMatch:
    """The match with the ratings that its changes started from.

    Who has no change gets the starting one: then nothing of the match depends on it, or a
    difference shows.
    """
    start = starting_standing(rules)
    of_ladder = [change for change in stored if change.ladder is ladder]
    before = {
        change.player_id: Standing(change.rating_before_milli, change.rated_matches - 1)
        for change in of_ladder
        if change.kind is not ChangeKind.SEASON_RESET
    }
    season = max((change.season for change in of_ladder), default=0)
    for player_id in match.quitters():
        forfeit = page.forfeits.get((match.match_id, ladder, player_id))
        if forfeit is not None:
            then = Standing(forfeit.rating_before_milli, forfeit.rated_matches - 1)
            before[player_id] = carry_over(then, forfeit.season, season, known)
    seats = tuple(
        Participant(before.get(owner.player_id, start), owner.departure) if owner else None
        for owner in match.seats
    )
    return RatedMatch(match.variant, match.mode, seats, match.is_private)
