"""The states of tables, holds and matches, changed by compare-and-set only.

A table's row is locked first, so one table's money events run one after another; the
compare-and-set beneath makes sure that a refund and a payout under two keys cannot both happen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, Row, bindparam, select, update

from services.wallet.decline import (
    Declined,
    MatchNotStarted,
    MatchSettled,
    MatchStarted,
    MatchVoided,
    TableClosed,
)
from services.wallet.insert import insert_new
from services.wallet.schema import holds, matches, tables

# Made once: to build a statement takes longer than to run it.
_LOCKED_TABLE: Final = (
    select(tables.c.is_closed).where(tables.c.table_id == bindparam("of_table")).with_for_update()
)
_LOCKED_TABLE_OF: Final = (
    select(tables.c.table_id)
    .join(matches, matches.c.table_id == tables.c.table_id)
    .where(matches.c.match_id == bindparam("of_match"))
    .with_for_update(of=tables)
)
_MOVED_MATCH: Final = (
    update(matches)
    .where(matches.c.match_id == bindparam("of_match"), matches.c.state == bindparam("before"))
    .values(state=bindparam("after"))
    .returning(matches)
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


def lock_table(connection: Connection, table_id: str) -> bool:
    """Have the table to oneself until the transaction ends; whether it is closed."""
    asked = {"of_table": table_id}
    is_closed = connection.execute(_LOCKED_TABLE, asked).scalar_one_or_none()
    if is_closed is None:
        insert_new(connection, tables, {"table_id": table_id, "is_closed": False})
        is_closed = connection.execute(_LOCKED_TABLE, asked).scalar_one()
    return bool(is_closed)


def lock_table_of(connection: Connection, match_id: str) -> str:
    """Have the match's table to oneself; its id. Raises ``MatchNotStarted``."""
    asked = {"of_match": match_id}
    table_id = connection.execute(_LOCKED_TABLE_OF, asked).scalar_one_or_none()
    if table_id is None:
        raise MatchNotStarted(f"match {match_id} was never seen: no stake was held for it (M2)")
    return str(table_id)


def lock_open_table(connection: Connection, table_id: str) -> None:
    """``lock_table`` of a table that must still be open. Raises ``TableClosed``."""
    if lock_table(connection, table_id):
        raise TableClosed(f"table {table_id} is closed: it holds no stakes any more (Ç10, K11)")


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


def move_match(
    connection: Connection, match_id: str, before: MatchState, after: MatchState
) -> Match | None:
    """Make a match that is in one state be in another; None where it is not in the first."""
    asked = {"of_match": match_id, "before": before, "after": after}
    changed = connection.execute(_MOVED_MATCH, asked).one_or_none()
    return None if changed is None else _match(changed)


def find_match(connection: Connection, match_id: str) -> Match | None:
    """The match, None for one that was never seen."""
    row = connection.execute(select(matches).where(matches.c.match_id == match_id)).one_or_none()
    return None if row is None else _match(row)


def not_startable(connection: Connection, match_id: str) -> Declined:
    """Why a match takes no stakes and no start: it has moved on from OPEN."""
    match match_state(connection, match_id):
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
