"""The states of tables, holds and matches, changed by compare-and-set only.

A table's row is locked first, so one table's money events run one after another; the
compare-and-set beneath makes sure that a refund and a payout under two keys cannot both happen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import BindParameter, Connection, Row, Table, bindparam, func, select, update

from services.wallet.decline import (
    Declined,
    MatchElsewhere,
    MatchNotStarted,
    MatchSettled,
    MatchStarted,
    MatchVoided,
    TableClosed,
)
from services.wallet.insert import Row as NewRow
from services.wallet.insert import insert_new_rows
from services.wallet.schema import holds, match_seats, matches, tables
from services.wallet.step import NotTogether, Step, Turn, padded

# Made once: to build a statement takes longer than to run it.
_OF_MATCHES: Final[BindParameter[str]] = bindparam("of_matches", expanding=True)
_TABLES_OF: Final = select(matches.c.match_id, matches.c.table_id).where(
    matches.c.match_id.in_(_OF_MATCHES)
)
_LOCKED_TABLES: Final = (
    select(tables)
    .where(tables.c.table_id.in_(bindparam("of_tables", expanding=True)))
    .order_by(tables.c.table_id)
    .with_for_update()
)
_MOVED_MATCHES: Final = (
    update(matches)
    .where(matches.c.match_id.in_(_OF_MATCHES), matches.c.state == bindparam("before"))
    .values(state=bindparam("after"))
    .returning(matches)
)
_SEATS: Final = (
    select(match_seats)
    .where(match_seats.c.match_id.in_(_OF_MATCHES))
    .order_by(match_seats.c.match_id, match_seats.c.seat)
)


class HoldState(StrEnum):
    """HELD → COMMITTED | VOIDED."""

    HELD = "held"
    COMMITTED = "committed"
    VOIDED = "voided"


class MatchState(StrEnum):
    """OPEN → STARTED → SETTLED | VOIDED, and OPEN → VOIDED."""

    OPEN = "open"
    STARTED = "started"
    SETTLED = "settled"
    VOIDED = "voided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A stake that is or was held."""

    hold_id: str
    state: HoldState
    table_id: str
    match_id: str
    player_id: str
    stake: int
    rules_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A match as the wallet knows it; all but its ids and state from its start on."""

    match_id: str
    table_id: str
    state: MatchState
    variant: int | None
    mode: int | None
    stake: int | None
    kasa_share: int | None
    rules_version: str | None


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat of a started match; no payer where the house paid."""

    payer: str | None
    is_given_up: bool


async def lock_table(table_id: str) -> bool:
    """Have the table to oneself until the transaction ends; whether it is closed."""
    return await _LOCK_TABLES.ask(table_id)


async def lock_table_of(match_id: str) -> str:
    """Have the match's table to oneself; its id. Raises ``MatchNotStarted``."""
    table_id = await _FIND_TABLES.ask(match_id)
    if table_id is None:
        raise MatchNotStarted(f"match {match_id} was never seen: no stake was held for it (M2)")
    await lock_table(table_id)
    return table_id


async def lock_open_table(table_id: str) -> None:
    """``lock_table`` of a table that must still be open. Raises ``TableClosed``."""
    if await lock_table(table_id):
        raise TableClosed(f"table {table_id} is closed: it holds no stakes any more (Ç10, K11)")


async def add_match(row: NewRow) -> bool:
    """Whether the match is new."""
    return await _ADD_MATCHES.ask(row)


async def add_hold(row: NewRow) -> bool:
    """Whether the hold is new."""
    return await _ADD_HOLDS.ask(row)


def find_hold(connection: Connection, hold_id: str) -> Hold | None:
    """The hold; None for an unknown one and for one that was given back before it came."""
    row = connection.execute(select(holds).where(holds.c.hold_id == hold_id)).one_or_none()
    return None if row is None or row.table_id is None else _hold(row)


def held_of_match(connection: Connection, match_id: str) -> list[Hold]:
    """All stakes that are held for the match, by hold id."""
    held = (
        select(holds)
        .where(holds.c.match_id == match_id, holds.c.state == HoldState.HELD)
        .order_by(holds.c.hold_id)
    )
    return [_hold(row) for row in connection.execute(held)]


def move_hold(connection: Connection, hold_id: str, after: HoldState) -> bool:
    """Make a HELD hold COMMITTED or VOIDED; False where it is not HELD (any more)."""
    changed = connection.execute(
        update(holds)
        .where(holds.c.hold_id == hold_id, holds.c.state == HoldState.HELD)
        .values(state=after)
        .returning(holds.c.hold_id)
    )
    return changed.one_or_none() is not None


def match_state(connection: Connection, match_id: str) -> MatchState | None:
    """The match's state; None for a match that was never seen."""
    found = select(matches.c.state).where(matches.c.match_id == match_id)
    state = connection.execute(found).scalar_one_or_none()
    return None if state is None else MatchState(state)


def commit_holds(
    connection: Connection, match_id: str, stake: int, hold_ids: Iterable[str]
) -> dict[str, str]:
    """Make these COMMITTED where they are HELD for this match and stake; their players, by hold."""
    changed = connection.execute(
        update(holds)
        .where(
            holds.c.hold_id.in_(hold_ids),
            holds.c.match_id == match_id,
            holds.c.stake == stake,
            holds.c.state == HoldState.HELD,
        )
        .values(state=HoldState.COMMITTED)
        .returning(holds.c.hold_id, holds.c.player_id)
    )
    return {row.hold_id: row.player_id for row in changed}


async def move_match(match_id: str, before: MatchState, after: MatchState) -> Match | None:
    """Make a match that is in one state be in another; None where it is not in the first."""
    return await _MOVE_MATCHES.ask((match_id, before, after))


async def seats_of(match_id: str) -> list[Seat]:
    """The seats of a started match."""
    return await _FIND_SEATS.ask(match_id)


def find_match(connection: Connection, match_id: str) -> Match | None:
    """The match, None for one that was never seen."""
    row = connection.execute(select(matches).where(matches.c.match_id == match_id)).one_or_none()
    return None if row is None else _match(row)


def find_last_settled(connection: Connection, table_id: str) -> Match | None:
    """The table's last match that was played to its end."""
    settled = (
        select(matches)
        .where(matches.c.table_id == table_id, matches.c.state == MatchState.SETTLED)
        # The number that an id ends with is written without zeros in front.
        .order_by(func.length(matches.c.match_id).desc(), matches.c.match_id.desc())
        .limit(1)
    )
    row = connection.execute(settled).one_or_none()
    return None if row is None else _match(row)


def not_startable(found: Match, table_id: str) -> Declined:
    """Why a match takes no stakes and no start here: another table's, or moved on from OPEN."""
    match_id = found.match_id
    if found.table_id != table_id:
        return MatchElsewhere(f"match {match_id} is of table {found.table_id}, not of {table_id}")
    match found.state:
        case MatchState.SETTLED:
            return MatchSettled(f"match {match_id} is settled: stakes are for a later match")
        case MatchState.VOIDED:
            return MatchVoided(f"match {match_id} is voided: stakes are for a later match (M10)")
        case _:
            return MatchStarted(f"match {match_id} has started: it takes no more stakes (M2)")


def not_running(connection: Connection, match_id: str) -> Declined:
    """Why a match cannot be settled, voided or given up: it is not STARTED."""
    match match_state(connection, match_id):
        case MatchState.SETTLED:
            return MatchSettled(f"match {match_id} is settled: its pot is paid out")
        case MatchState.VOIDED:
            return MatchVoided(f"match {match_id} is voided: its stakes went back (M10)")
        case _:
            return MatchNotStarted(f"match {match_id} has not started: there is no pot (M2)")


def _hold(row: Row[tuple[object, ...]]) -> Hold:
    return Hold(
        hold_id=row.hold_id,
        state=HoldState(row.state),
        table_id=row.table_id,
        match_id=row.match_id,
        player_id=row.player_id,
        stake=row.stake,
        rules_version=row.rules_version,
    )


def _match(row: Row[tuple[object, ...]]) -> Match:
    return Match(
        match_id=row.match_id,
        table_id=row.table_id,
        state=MatchState(row.state),
        variant=row.variant,
        mode=row.mode,
        stake=row.stake,
        kasa_share=row.kasa_share,
        rules_version=row.rules_version,
    )


def _find_tables(connection: Connection, match_ids: Sequence[str]) -> list[str | None]:
    rows = connection.execute(_TABLES_OF, {"of_matches": padded(match_ids)})
    found = {row.match_id: row.table_id for row in rows}
    return [found.get(match_id) for match_id in match_ids]


def _lock_tables(connection: Connection, table_ids: Sequence[str]) -> list[bool | NotTogether]:
    asked = {"of_tables": padded(sorted(table_ids))}
    closed = {row.table_id: row.is_closed for row in connection.execute(_LOCKED_TABLES, asked)}
    if not closed and len(table_ids) == 1:
        insert_new_rows(connection, tables, [{"table_id": table_ids[0], "is_closed": False}])
        rows = connection.execute(_LOCKED_TABLES, asked)
        closed = {row.table_id: row.is_closed for row in rows}
    # Taken out one by one: a table belongs to the first who asks. A new one is added by its
    # command alone, as its row would be locked after others that may sort later.
    nobody = NotTogether("the table is new, or another's in this transaction")
    return [closed.pop(table_id, nobody) for table_id in table_ids]


_Move = tuple[str, MatchState, MatchState]


def _move_matches(connection: Connection, asked: Sequence[_Move]) -> list[Match | None]:
    moved: dict[str, Match] = {}
    for before, after in sorted({(before, after) for _, before, after in asked}):
        named = [match_id for match_id, *states in asked if states == [before, after]]
        move = {"of_matches": padded(named), "before": before, "after": after}
        rows = connection.execute(_MOVED_MATCHES, move)
        moved |= {row.match_id: _match(row) for row in rows}
    return [moved.pop(match_id, None) for match_id, _, _ in asked]


def _find_seats(connection: Connection, match_ids: Sequence[str]) -> list[list[Seat]]:
    seats: dict[str, list[Seat]] = {match_id: [] for match_id in match_ids}
    for row in connection.execute(_SEATS, {"of_matches": padded(match_ids)}):
        seats[row.match_id].append(Seat(row.payer, row.is_given_up))
    return [seats[match_id] for match_id in match_ids]


def _add(table: Table) -> Step[NewRow, bool]:
    return Step(Turn.STATES, lambda connection, rows: insert_new_rows(connection, table, rows))


_FIND_TABLES: Final = Step(Turn.MATCHES, _find_tables)
_LOCK_TABLES: Final = Step(Turn.TABLES, _lock_tables)
_ADD_MATCHES: Final = _add(matches)
_ADD_HOLDS: Final = _add(holds)
_MOVE_MATCHES: Final = Step(Turn.STATES, _move_matches)
_FIND_SEATS: Final = Step(Turn.SEATS, _find_seats)
