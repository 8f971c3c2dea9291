"""Many tables' rows in one transaction, with a verdict for each: one's conflict harms no other."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects import sqlite

from okey_runtime.sqlite import run_quickly
from services.engine.finished_round import RoundMark
from services.engine.record import Request
from services.engine.schema import feed, journal, players, rounds, seated, shards, tables
from services.engine.set_based import delete_pairs, insert_new, insert_where_free, put
from services.engine.shards import shard_of


@dataclass(slots=True)
class Append:
    """A row that shall become ``seq`` of its table, with who joins and leaves by it (W3).

    ``names`` are (player, display name); ``is_first`` makes the table, ``is_last`` closes it;
    ``deadline_ms`` is when the table's next clock rings, 0 for none; ``rounds`` are what it deals
    and ends.
    """

    table_id: str
    seq: int
    at_ms: int
    payload: bytes
    request: Request | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    is_last: bool = False
    deadline_ms: int = 0
    rounds: tuple[RoundMark, ...] = ()

    @property
    def is_first(self) -> bool:
        """Whether the row makes the table."""
        return self.seq == 1


class Taken(Enum):
    """Another owner has appended this row: the fence."""

    SEQ = "seq"


@dataclass(frozen=True, slots=True)
class SitsElsewhere:
    """A joining player has a seat already (W3)."""

    player: str
    table_id: str


Verdict = Taken | SitsElsewhere | None
"""None: the row went in."""


def append_batch(
    connection: Connection, batch: Sequence[Append], engine: str = ""
) -> list[Verdict]:
    """Write every row that can be written by this engine.

    A batch holds one row a table, since an owner waits for its row: of two, the second comes from
    somebody who believes to be the owner too, and is told that its place is taken.

    All rows go in with one statement, which says how many did; which, is asked where not all did.
    Whether a player sits elsewhere is known only when the seats are written: so a batch that seats
    somebody is written behind a savepoint, and again without the tables that were refused.
    """
    first: dict[str, Append] = {}
    for row in batch:
        first.setdefault(row.table_id, row)
    # In one order everywhere, so that no two engines wait for each other.
    left = sorted(first.values(), key=lambda row: row.table_id)
    verdicts: dict[str, Verdict] = dict.fromkeys(
        _made_elsewhere(connection, left, engine), Taken.SEQ
    )
    left = [row for row in left if row.table_id not in verdicts]
    while any(row.joined for row in left):
        savepoint = connection.begin_nested()
        taken = _write_rows(connection, left)
        refused = _seat(connection, [row for row in left if row.table_id not in taken])
        if not refused:
            savepoint.commit()
            break
        savepoint.rollback()
        verdicts |= refused
        left = [row for row in left if row.table_id not in refused]
    else:
        taken = _write_rows(connection, left)
        _free_seats(connection, [row for row in left if row.table_id not in taken])
    verdicts |= dict.fromkeys(taken, Taken.SEQ)
    _note(connection, [row for row in left if row.table_id not in taken])
    return [
        verdicts.get(row.table_id) if row is first[row.table_id] else Taken.SEQ for row in batch
    ]


def _write_rows(connection: Connection, batch: Sequence[Append]) -> set[str]:
    """Write the rows whose place is free; the tables whose place was taken."""
    position = _take_positions(connection, len(batch))
    first = [{"table_id": r.table_id, "created_ms": r.at_ms} for r in batch if r.is_first]
    made = insert_new(connection, tables, first)
    rows = [_journal_row(row) for row in batch if not row.is_first or row.table_id in made]
    for place, row in enumerate(rows):
        row["position"] = position + place
    if insert_where_free(connection, journal, rows) == len(batch):
        return set()
    written = set(connection.execute(_WRITTEN_FROM, {"position": position}).scalars())
    return {row.table_id for row in batch} - written


def _made_elsewhere(connection: Connection, batch: Sequence[Append], engine: str) -> list[str]:
    """The new tables of shards that another engine owns.

    Whoever takes a shard over looks for its tables once, so no table may be made behind its back.
    No key keeps a first row from it: what does is the shard's row, held until the commit.
    """
    made = {row.table_id: shard_of(row.table_id) for row in batch if row.is_first}
    if not made:
        return []
    held = (
        select(shards.c.shard)
        .where(shards.c.shard.in_(sorted(set(made.values()))))
        .where(shards.c.owner.is_(None) | (shards.c.owner == engine))
        .order_by(shards.c.shard)
        .with_for_update(read=True)
    )
    ours = set(connection.execute(held).scalars())
    return [table_id for table_id, shard in made.items() if shard not in ours]


def _take_positions(connection: Connection, count: int) -> int:
    """The first of so many positions; nobody else gets any before this transaction has ended."""
    last: int
    if connection.dialect.name == "sqlite":
        [(last,)] = run_quickly(connection, _TAKE_ON_SQLITE, (count,))
    else:
        last = connection.execute(_TAKE, {"count": count}).scalar_one()
    return last - count + 1


# Whoever holds the feed's row is alone with the positions that it took.
_WRITTEN_FROM: Final = select(journal.c.table_id).where(journal.c.position >= bindparam("position"))

_TAKE: Final = update(feed).values(last=feed.c.last + bindparam("count")).returning(feed.c.last)
_TAKE_ON_SQLITE: Final = str(_TAKE.compile(dialect=sqlite.dialect()))


def _seat(connection: Connection, batch: Sequence[Append]) -> dict[str, SitsElsewhere]:
    """Free and take seats (W3); the tables that must be refused, none if all is well.

    A table is not refused for a seat that another table of the batch took and loses again.
    """
    _free_seats(connection, batch)
    rows = [{"player": player, "table_id": r.table_id} for r in batch for player in r.joined]
    if len(insert_new(connection, seated, rows)) == len(rows):
        return {}
    joining = {player for row in batch for player in row.joined}
    sitting = select(seated.c.player, seated.c.table_id).where(seated.c.player.in_(joining))
    holders = {row.player: row.table_id for row in connection.execute(sitting)}
    conflicts = {
        row.table_id: SitsElsewhere(player, holders[player])
        for row in batch
        for player in row.joined
        if holders[player] != row.table_id
    }
    return {table: why for table, why in conflicts.items() if why.table_id not in conflicts}


def _free_seats(connection: Connection, batch: Sequence[Append]) -> None:
    gone = [(player, row.table_id) for row in batch for player in row.left]
    delete_pairs(connection, seated.c.player, seated.c.table_id, gone)


def _note(connection: Connection, batch: Sequence[Append]) -> None:
    """Names, rounds, and that tables are closed."""
    names = dict(pair for row in batch for pair in row.names)
    put(connection, players, [{"player": p, "display_name": n} for p, n in sorted(names.items())])
    closed = [{"of_table": row.table_id, "at_ms": row.at_ms} for row in batch if row.is_last]
    if closed:
        connection.execute(_CLOSE, closed)
    _note_rounds(connection, batch)


def _note_rounds(connection: Connection, batch: Sequence[Append]) -> None:
    marks = [(row, mark) for row in batch for mark in row.rounds]
    dealt = [_round_row(row, mark) for row, mark in marks if not mark.is_end]
    put(connection, rounds, dealt)
    ended = [
        {
            "of_table": row.table_id,
            "of_match": mark.match_no,
            "of_round": mark.round_no,
            "seq": row.seq,
        }
        for row, mark in marks
        if mark.is_end
    ]
    if ended:
        connection.execute(_END_ROUND, ended)


def _round_row(row: Append, mark: RoundMark) -> dict[str, object]:
    return {
        "table_id": row.table_id,
        "match_no": mark.match_no,
        "round_no": mark.round_no,
        "first_seq": row.seq,
        "last_seq": None,
        "match_id": mark.match_id,
        "players": ",".join(mark.players),
        "commitment": mark.commitment,
    }


_END_ROUND: Final = (
    update(rounds)
    .where(rounds.c.table_id == bindparam("of_table"))
    .where(rounds.c.match_no == bindparam("of_match"))
    .where(rounds.c.round_no == bindparam("of_round"))
    .values(last_seq=bindparam("seq"))
)


_CLOSE: Final = (
    update(tables)
    .where(tables.c.table_id == bindparam("of_table"))
    .values(is_closed=True, closed_ms=bindparam("at_ms"))
)


def _journal_row(row: Append) -> dict[str, object]:
    request = row.request
    return {
        "table_id": row.table_id,
        "seq": row.seq,
        "at_ms": row.at_ms,
        "payload": row.payload,
        "player": request.player if request else None,
        "request_id": request.request_id if request else None,
        "request_hash": request.digest if request else None,
        "deadline_ms": row.deadline_ms,
    }
