"""Reading what was recorded: a player's history, a match's forfeits, the sinks."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Select, func, select

from okey.rating import ChangeKind, Ladder, Sink
from services.rating.record import RatingChanged, Recorded, SinkAmount, content_hash
from services.rating.schema import history, records, sink_postings


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Changes, newest first; ``next_before`` is None on the last page."""

    changes: tuple[RatingChanged, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A match or forfeit that is recorded already."""

    record_id: int
    content_hash: str
    rules_version: str

    def differs(self, content: str, rules_version: str) -> tuple[str, ...]:
        """What a report of the same match says otherwise; no rule set means the one that was
        taken.
        """
        rules = () if rules_version in ("", self.rules_version) else ("rules_version",)
        same = self.content_hash == content_hash(content)
        return rules if same else ("the content", *rules)


def find_record(connection: Connection, match_id: str, player_id: str) -> StoredRecord | None:
    """The record of the player's forfeit of the match, or with ``player_id`` "" of the match."""
    row = connection.execute(
        select(records.c.record_id, records.c.content_hash, records.c.rules_version).where(
            records.c.match_id == match_id, records.c.player_id == player_id
        )
    ).one_or_none()
    if row is None:
        return None
    return StoredRecord(row.record_id, row.content_hash, row.rules_version)


def read_recorded(connection: Connection, record_id: int) -> Recorded:
    """What a record changed, in the order of ladders and players."""
    changes = connection.execute(
        select(history)
        .where(history.c.record_id == record_id)
        .order_by(history.c.ladder, history.c.player_id, history.c.change_no)
    )
    sinks = connection.execute(
        select(sink_postings)
        .where(sink_postings.c.record_id == record_id)
        .order_by(sink_postings.c.ladder, sink_postings.c.sink)
    )
    return Recorded(
        tuple(changed(row) for row in changes),
        tuple(SinkAmount(Ladder(row.ladder), Sink(row.sink), row.amount_milli) for row in sinks),
    )


def read_forfeiters(connection: Connection, match_id: str) -> set[str]:
    """Who has a recorded forfeit of the match."""
    rows = connection.execute(
        select(records.c.player_id).where(records.c.match_id == match_id, records.c.player_id != "")
    )
    return set(rows.scalars())


def read_history(
    connection: Connection, ladder: Ladder, player_id: str, before: int | None, size: int
) -> HistoryPage:
    """The player's ``size`` changes before number ``before``, the newest if it is None."""
    query: Select[*tuple[object, ...]] = (
        select(history)
        .where(history.c.ladder == ladder, history.c.player_id == player_id)
        .order_by(history.c.change_no.desc())
        .limit(size + 1)
    )
    if before is not None:
        query = query.where(history.c.change_no < before)
    rows = connection.execute(query).all()
    changes = tuple(changed(row) for row in rows[:size])
    return HistoryPage(changes, changes[-1].change_no if len(rows) > size else None)


def read_sink_totals(connection: Connection) -> Sequence[SinkAmount]:
    """Everything ever booked, summed by ladder and sink."""
    rows = connection.execute(
        select(
            sink_postings.c.ladder,
            sink_postings.c.sink,
            func.sum(sink_postings.c.amount_milli).label("amount_milli"),
        )
        .group_by(sink_postings.c.ladder, sink_postings.c.sink)
        .order_by(sink_postings.c.ladder, sink_postings.c.sink)
    )
    # PostgreSQL sums BIGINT as NUMERIC, which arrives as a decimal.
    return [SinkAmount(Ladder(row.ladder), Sink(row.sink), int(row.amount_milli)) for row in rows]


def changed(row: Row[*tuple[object, ...]]) -> RatingChanged:
    """A row of ``history``."""
    return RatingChanged(
        player_id=row.player_id,
        ladder=Ladder(row.ladder),
        season=row.season,
        change_no=row.change_no,
        kind=ChangeKind(row.kind),
        match_id=row.match_id or "",
        rating_before_milli=row.rating_before_milli,
        delta_milli=row.delta_milli,
        rated_matches=row.rated_matches,
        occurred_ms=row.occurred_ms,
    )
