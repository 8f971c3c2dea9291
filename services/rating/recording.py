"""Recording a match or a forfeit: one transaction each, exactly once, in turn for every player.

A transaction first locks the running season against a change, then its match, then all its players'
rows, in one order for everybody, and only then looks whether the record is there already. So no
rating is computed from a stale one, and the second of two equal reports always finds the first.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, insert, text

from okey.rating import Ladder, Participant, RatedMatch, rate_forfeit, rate_match
from okey.rules.rule_set import RuleSet
from services.rating.booking import Booking, book
from services.rating.history import find_record, read_forfeiters, read_recorded
from services.rating.meetings import count_meetings, keep_meetings
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
from services.rating.rulebook import RuleBook
from services.rating.schema import records
from services.rating.seasons import lock_running_season
from services.rating.standings import (
    Entry,
    lock_players,
    read_entries,
    read_standing_before_forfeit,
)

_NO_PLAYER = ""


def record_match(connection: Connection, record: MatchRecord, book_of_rules: RuleBook) -> Recorded:
    """Rate a match at its end; the same match again changes nothing and gives the same answer.

    Raises ``MatchRecordedDifferently``, ``ForfeitContradicted``, ``ContradictoryMatch`` or
    ``RatingRulesUnknown``.
    """
    rules = book_of_rules.of(record.rules_version)
    season = lock_running_season(connection)
    _lock_match(connection, record.match_id)
    ladders = ladders_of(record.variant)
    lock_players(connection, ladders, record.people(), season)
    content = record.content()
    earlier = find_record(connection, record.match_id, _NO_PLAYER)
    if earlier is not None:
        if not earlier.is_of(content, record.rules_version):
            raise MatchRecordedDifferently(
                f"match {record.match_id} was recorded with other content: the first one stands"
            )
        return read_recorded(connection, earlier.record_id)
    _record_forfeits_of(connection, record, season, rules)
    owners = record.owners()
    entries = read_entries(connection, ladders, record.people(), rules)
    window_ms = rules.meetings_window_ms
    before = count_meetings(connection, owners, record.ended_ms, window_ms)
    changes = {}
    for ladder, of_ladder in entries.items():
        rated = _rated_match(connection, record, ladder, of_ladder, season)
        changes[ladder] = rate_match(rated, record.outcome, rules, before)
    record_id = _insert_record(
        connection, record.match_id, _NO_PLAYER, content, record.ended_ms, rules
    )
    booking = Booking(
        record_id=record_id,
        season=season,
        match_id=record.match_id,
        occurred_ms=record.ended_ms,
        owners=owners,
        rules=rules,
    )
    book(connection, booking, changes, entries)
    if window_ms:
        # Who met is the same on every ladder.
        keep_meetings(connection, record_id, record.ended_ms, owners, changes[Ladder.OVERALL])
    return read_recorded(connection, record_id)


def record_forfeit(
    connection: Connection, record: ForfeitRecord, book_of_rules: RuleBook
) -> Recorded:
    """Take the price of giving up, once a match and player (R5); the same again changes nothing.

    Raises ``ForfeitRecordedDifferently``, ``RatingRulesUnknown``, or ``ForfeitContradicted`` once
    the match is recorded without it.
    """
    rules = book_of_rules.of(record.rules_version)
    season = lock_running_season(connection)
    _lock_match(connection, record.match_id)
    lock_players(connection, ladders_of(record.variant), [record.player_id], season)
    is_match_recorded = find_record(connection, record.match_id, _NO_PLAYER) is not None
    return _record_forfeit(connection, record, season, rules, is_open=not is_match_recorded)


def _lock_match(connection: Connection, match_id: str) -> None:
    """Let one report of the match in at a time, also where two of them share no player.

    On SQLite one writer has the whole database.
    """
    if connection.dialect.name == "postgresql":
        query = text("SELECT pg_advisory_xact_lock(hashtextextended(:match_id, 0))")
        connection.execute(query, {"match_id": match_id})


def _record_forfeit(
    connection: Connection, record: ForfeitRecord, season: int, rules: RuleSet, *, is_open: bool
) -> Recorded:
    """The player's rows are locked; ``is_open`` says that the match is not recorded yet."""
    content = record.content()
    earlier = find_record(connection, record.match_id, record.player_id)
    if earlier is not None:
        if not earlier.is_of(content, record.rules_version):
            raise ForfeitRecordedDifferently(
                f"the forfeit of {record.player_id!r} in match {record.match_id} was recorded with "
                "another seat or variant, or by other rules: the first one stands"
            )
        return read_recorded(connection, earlier.record_id)
    if not is_open:
        raise ForfeitContradicted(
            f"match {record.match_id} was recorded without a forfeit of {record.player_id!r}"
        )
    record_id = _insert_record(
        connection, record.match_id, record.player_id, content, record.forfeited_ms, rules
    )
    booking = Booking(
        record_id=record_id,
        season=season,
        match_id=record.match_id,
        occurred_ms=record.forfeited_ms,
        owners={record.seat: record.player_id},
        rules=rules,
    )
    ladders = ladders_of(record.variant)
    entries = read_entries(connection, ladders, [record.player_id], rules)
    book(connection, booking, dict.fromkeys(ladders, rate_forfeit(record.seat, rules)), entries)
    return read_recorded(connection, record_id)


def _record_forfeits_of(
    connection: Connection, record: MatchRecord, season: int, rules: RuleSet
) -> None:
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
            rules_version=record.rules_version,
        )
        _record_forfeit(connection, forfeit, season, rules, is_open=True)


def _rated_match(
    connection: Connection,
    record: MatchRecord,
    ladder: Ladder,
    entries: Mapping[str, Entry],
    season: int,
) -> RatedMatch:
    """The match with the standings that count on a ladder: now, or just before a forfeit (R5)."""
    standings = {player_id: entry.standing for player_id, entry in entries.items()}
    for player_id in record.quitters():
        standings[player_id] = read_standing_before_forfeit(
            connection, record.match_id, ladder, player_id, season
        )
    seats = tuple(
        Participant(standings[owner.player_id], owner.departure) if owner else None
        for owner in record.seats
    )
    return RatedMatch(record.variant, record.mode, seats, record.is_private)


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
