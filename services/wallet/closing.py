"""Ç10: the end of a table."""

from collections.abc import Sequence

from sqlalchemy import Table, func, select, update

from okey.money.account import kasa_account, player_account
from okey.money.stake import close_table
from services.wallet.books import Books, Note
from services.wallet.command import CloseTable
from services.wallet.decline import TableClosed, TableNotIdle
from services.wallet.receipt import NOTHING_BOOKED, Receipt
from services.wallet.schema import holds, matches, tables
from services.wallet.states import (
    HoldState,
    Match,
    MatchState,
    find_last_settled,
    lock_table,
    seats_of,
)


async def close(books: Books, asked: CloseTable) -> Receipt:
    """What is left of the kasa goes back to who played for it, or to the house.

    Raises ``TableNotIdle``, ``TableClosed``, ``RulesUnknown``.
    """
    await lock_table(asked.table_id)
    held = _count(books, holds, HoldState.HELD, asked.table_id)
    running = _count(books, matches, MatchState.STARTED, asked.table_id)
    if held or running:
        raise TableNotIdle(
            f"table {asked.table_id} has {held} held stakes and {running} running matches: give "
            "them back or settle first (Ç10)"
        )
    if not _move_table(books, asked.table_id):
        raise TableClosed(f"table {asked.table_id} is closed already (Ç10)")
    last = find_last_settled(books.connection, asked.table_id)
    stayed = await _stayed(last)
    kasa, purses = kasa_account(asked.table_id), list(map(player_account, stayed))
    await books.lock([kasa, *purses])
    if last is None or last.rules_version is None:
        assert not books.balance(kasa), f"{kasa} was filled without a match"
        return NOTHING_BOOKED
    # An id that was erased since is closed for good.
    heirs = [p for p, purse in zip(stayed, purses, strict=True) if not books.is_closed(purse)]
    rules = books.house.rules(last.rules_version)
    journal = close_table(asked.table_id, books.balance(kasa), heirs, rules)
    if journal is None:
        return NOTHING_BOOKED
    note = Note(rules_version=rules.version, table_id=asked.table_id)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


async def _stayed(last: Match | None) -> Sequence[str]:
    """Who played the match to the end, in seat order."""
    seats = await seats_of(last.match_id) if last is not None else ()
    return [seat.payer for seat in seats if seat.payer is not None and not seat.is_given_up]


def _count(books: Books, of: Table, state: HoldState | MatchState, table_id: str) -> int:
    found = (
        select(func.count()).select_from(of).where(of.c.table_id == table_id, of.c.state == state)
    )
    return books.connection.execute(found).scalar_one()


def _move_table(books: Books, table_id: str) -> bool:
    changed = books.connection.execute(
        update(tables)
        .where(tables.c.table_id == table_id, tables.c.is_closed.is_(False))
        .values(is_closed=True)
        .returning(tables.c.table_id)
    )
    return changed.one_or_none() is not None
