"""Ç10: the end of a table."""

from sqlalchemy import Table, func, select, update

from okey.money.account import kasa_account
from okey.money.stake import close_table
from services.wallet.books import Books, Note
from services.wallet.command import CloseTable
from services.wallet.decline import TableClosed, TableNotIdle
from services.wallet.receipt import NOTHING_BOOKED, Receipt
from services.wallet.schema import holds, matches, tables
from services.wallet.states import HoldState, MatchState, lock_table


async def close(books: Books, asked: CloseTable) -> Receipt:
    """What is left of the kasa is the house's. Raises ``TableNotIdle``, ``TableClosed``."""
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
    kasa = kasa_account(asked.table_id)
    await books.lock([kasa])
    journal = close_table(asked.table_id, books.balance(kasa))
    if journal is None:
        return NOTHING_BOOKED
    note = Note(rules_version=books.house.current_version, table_id=asked.table_id)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


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
