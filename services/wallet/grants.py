"""What only operators do: grant chips, take a journal back (M3)."""

from typing import Final

from sqlalchemy import select

from okey.money.account import player_account
from okey.money.journal import MAX_CHIPS, AmountOutOfRange, Journal, JournalKind
from okey.money.stake import grant
from services.wallet.books import Books, Note
from services.wallet.command import GrantChips, ReverseJournal
from services.wallet.decline import JournalNotReversible, JournalReversed, JournalUnknown
from services.wallet.receipt import Receipt, legs_of
from services.wallet.schema import journals

REVERSIBLE: Final = frozenset({JournalKind.GRANT, JournalKind.WELCOME, JournalKind.FORFEIT})
"""Journals without a state of a hold, match or table; the others have calls of their own."""


async def grant_chips(books: Books, asked: GrantChips) -> Receipt:
    """M3: new chips for a player. Raises ``AmountOutOfRange``, also for more than one may have.

    Only grants make chips, so this bound keeps every sum far within 64 bits.
    """
    journal = grant(asked.player_id, asked.amount)
    player = player_account(asked.player_id)
    await books.lock([player])
    if books.balance(player) + asked.amount > MAX_CHIPS:
        raise AmountOutOfRange(
            f"{player} has {books.balance(player)} chips: {asked.amount} more would be over "
            f"{MAX_CHIPS}, the most a grant makes"
        )
    note = Note(rules_version=books.house.current_version, actor=asked.actor, reason=asked.reason)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


async def reverse_journal(books: Books, asked: ReverseJournal) -> Receipt:
    """A new journal that undoes a grant or a penalty. Raises a ``Declined``."""
    found = books.connection.execute(
        select(journals).where(journals.c.journal_id == asked.journal_id)
    ).one_or_none()
    if found is None:
        raise JournalUnknown(f"there is no journal {asked.journal_id}")
    kind = JournalKind(found.kind)
    if kind not in REVERSIBLE:
        raise JournalNotReversible(
            f"journal {asked.journal_id} is a {kind}: only a grant or a penalty can be taken back; "
            "void the hold or the match instead"
        )
    legs = legs_of(books.connection, asked.journal_id)
    # The player's account is in every reversible journal, so two who reverse it take turns here.
    await books.lock([leg.account for leg in legs])
    if _is_reversed(books, asked.journal_id):
        raise JournalReversed(f"journal {asked.journal_id} was taken back already")
    note = Note(
        rules_version=found.rules_version,
        table_id=found.table_id,
        match_id=found.match_id,
        actor=asked.actor,
        reason=asked.reason,
        reverses=asked.journal_id,
    )
    posted = await books.post(Journal(kind, legs).reversed(), note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


def _is_reversed(books: Books, journal_id: int) -> bool:
    found = select(journals.c.journal_id).where(journals.c.reverses == journal_id)
    return books.connection.execute(found).one_or_none() is not None
