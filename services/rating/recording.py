"""Writing a match or a forfeit: one transaction each, exactly once, in turn for every player.

A transaction first locks all its players' rows, in one order for everybody, and only then looks
whether the record is there already. So no rating is computed from a stale one, and the second of
two equal reports always finds the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, text, update

from okey.rating import (
    Ladder,
    MatchRating,
    Participant,
    RatedMatch,
    Standing,
    rate_forfeit,
    rate_match,
    starting_standing,
)
from okey.rules.rule_set import RuleSet
from services.rating.history import (
    find_record,
    read_forfeiters,
    read_recorded,
    read_standing_before_forfeit,
)
from services.rating.ranking import Section, read_standings, section_of
from services.rating.record import (
    ForfeitContradicted,
    ForfeitRecord,
    ForfeitRecordedDifferently,
    MatchRecord,
    MatchRecordedDifferently,
    Recorded,
    content_hash,
    ladders_of,
)
from services.rating.schema import history, ratings, records, sink_postings

_NO_PLAYER = ""

# The one statement that both databases read alike and SQLAlchemy has no common word for.
_ADD_MISSING_RATING = text(
    "INSERT INTO ratings (ladder, player_id, rating_milli, rated_matches, section)"
    " VALUES (:ladder, :player_id, :rating_milli, :rated_matches, :section)"
    " ON CONFLICT (ladder, player_id) DO NOTHING"
)


def record_match(connection: Connection, record: MatchRecord, rules: RuleSet) -> Recorded:
    """Rate a match at its end; the same match again changes nothing and gives the same answer.

    Raises ``MatchRecordedDifferently``, ``ForfeitContradicted`` or ``ContradictoryMatch``.
    """
    _lock_players(connection, record.people(), rules)
    content = record.content()
    earlier = find_record(connection, record.match_id, _NO_PLAYER)
    if earlier is not None:
        if earlier.content_hash != content_hash(content):
            raise MatchRecordedDifferently(
                f"match {record.match_id} was recorded with other content: the first one stands"
            )
        return read_recorded(connection, earlier.record_id)
    _record_forfeits_of(connection, record, rules)
    changes = {
        ladder: rate_match(_rated_match(connection, record, ladder, rules), record.outcome, rules)
        for ladder in ladders_of(record.variant)
    }
    record_id = _insert_record(
        connection, record.match_id, _NO_PLAYER, content, record.ended_ms, rules
    )
    owners = {seat: owner.player_id for seat, owner in enumerate(record.seats) if owner}
    booking = _Booking(record_id, record.match_id, record.ended_ms, owners)
    return _book(connection, booking, changes, rules)


def record_forfeit(connection: Connection, record: ForfeitRecord, rules: RuleSet) -> Recorded:
    """Take the price of giving up, once a match and player (R5); the same again changes nothing.

    Raises ``ForfeitRecordedDifferently``, or ``ForfeitContradicted`` once the match is recorded
    without it.
    """
    _lock_players(connection, [record.player_id], rules)
    content = record.content()
    earlier = find_record(connection, record.match_id, record.player_id)
    if earlier is not None:
        if earlier.content_hash != content_hash(content):
            raise ForfeitRecordedDifferently(
                f"the forfeit of {record.player_id!r} in match {record.match_id} was recorded with "
                "another seat or variant: the first one stands"
            )
        return read_recorded(connection, earlier.record_id)
    if find_record(connection, record.match_id, _NO_PLAYER) is not None:
        raise ForfeitContradicted(
            f"match {record.match_id} was recorded without a forfeit of {record.player_id!r}"
        )
    return _record_new_forfeit(connection, record, rules)


def _lock_players(connection: Connection, player_ids: Sequence[str], rules: RuleSet) -> None:
    """Lock the players' rows on every ladder; missing ones are made, to have one to lock."""
    start = starting_standing(rules)
    connection.execute(
        _ADD_MISSING_RATING,
        [
            {
                "ladder": ladder.value,
                "player_id": player_id,
                "rating_milli": start.rating_milli,
                "rated_matches": start.rated_matches,
                "section": Section.UNRANKED.value,
            }
            for player_id in sorted(player_ids)
            for ladder in Ladder
        ],
    )
    # SQLite leaves FOR UPDATE out: there one writer has the whole database.
    connection.execute(
        select(ratings.c.player_id)
        .where(ratings.c.player_id.in_(player_ids))
        .order_by(ratings.c.player_id, ratings.c.ladder)
        .with_for_update()
    ).all()


def _record_forfeits_of(connection: Connection, record: MatchRecord, rules: RuleSet) -> None:
    """Make sure that the match's quitters are exactly those with a recorded forfeit of it."""
    quitters = record.quitters()
    unnamed = read_forfeiters(connection, record.match_id) - quitters.keys()
    if unnamed:
        raise ForfeitContradicted(
            f"match {record.match_id} does not say that {sorted(unnamed)} gave up, but their "
            "forfeits are recorded"
        )
    for player_id, seat in quitters.items():
        forfeit = ForfeitRecord(
            match_id=record.match_id,
            variant=record.variant,
            seat=seat,
            player_id=player_id,
            forfeited_ms=record.ended_ms,
        )
        record_forfeit(connection, forfeit, rules)


def _record_new_forfeit(connection: Connection, record: ForfeitRecord, rules: RuleSet) -> Recorded:
    record_id = _insert_record(
        connection,
        record.match_id,
        record.player_id,
        record.content(),
        record.forfeited_ms,
        rules,
    )
    rating = rate_forfeit(record.seat, rules)
    booking = _Booking(
        record_id, record.match_id, record.forfeited_ms, {record.seat: record.player_id}
    )
    return _book(connection, booking, dict.fromkeys(ladders_of(record.variant), rating), rules)


def _rated_match(
    connection: Connection, record: MatchRecord, ladder: Ladder, rules: RuleSet
) -> RatedMatch:
    """The match with the standings that count on a ladder: now, or just before a forfeit (R5)."""
    people = record.people()
    standings = dict(zip(people, read_standings(connection, ladder, people, rules), strict=True))
    for player_id in record.quitters():
        standings[player_id] = read_standing_before_forfeit(
            connection, record.match_id, ladder, player_id
        )
    seats = tuple(
        Participant(standings[owner.player_id], owner.departure) if owner else None
        for owner in record.seats
    )
    return RatedMatch(record.variant, record.mode, seats)


@dataclass(frozen=True, slots=True)
class _Booking:
    """What all rows of one record share; ``owners`` names the players by seat."""

    record_id: int
    match_id: str
    occurred_ms: int
    owners: Mapping[int, str]


def _insert_record(
    connection: Connection,
    match_id: str,
    player_id: str,
    content: str,
    occurred_ms: int,
    rules: RuleSet,
) -> int:
    record_id: int = connection.execute(
        insert(records)
        .values(
            match_id=match_id,
            player_id=player_id,
            content=content,
            content_hash=content_hash(content),
            rules_version=rules.version,
            occurred_ms=occurred_ms,
        )
        .returning(records.c.record_id)
    ).scalar_one()
    return record_id


def _book(
    connection: Connection,
    booking: _Booking,
    by_ladder: Mapping[Ladder, MatchRating],
    rules: RuleSet,
) -> Recorded:
    """Write every change and sink amount, and move the ratings along."""
    for ladder, rating in by_ladder.items():
        players = [booking.owners[change.seat] for change in rating.changes]
        standings = read_standings(connection, ladder, players, rules)
        for change, player_id, before in zip(rating.changes, players, standings, strict=True):
            after = before.after(change.delta_milli)
            connection.execute(
                insert(history).values(
                    ladder=ladder.value,
                    player_id=player_id,
                    rated_matches=after.rated_matches,
                    record_id=booking.record_id,
                    kind=change.kind.value,
                    match_id=booking.match_id,
                    rating_before_milli=before.rating_milli,
                    delta_milli=change.delta_milli,
                    occurred_ms=booking.occurred_ms,
                )
            )
            _write_standing(connection, ladder, player_id, after, rules)
        if rating.sink_milli:
            connection.execute(
                insert(sink_postings).values(
                    record_id=booking.record_id,
                    ladder=ladder.value,
                    sink=rating.sink.value,
                    amount_milli=rating.sink_milli,
                )
            )
    return read_recorded(connection, booking.record_id)


def _write_standing(
    connection: Connection, ladder: Ladder, player_id: str, standing: Standing, rules: RuleSet
) -> None:
    connection.execute(
        update(ratings)
        .where(ratings.c.ladder == ladder.value, ratings.c.player_id == player_id)
        .values(
            rating_milli=standing.rating_milli,
            rated_matches=standing.rated_matches,
            section=section_of(standing, rules).value,
        )
    )
