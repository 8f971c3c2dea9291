"""Stakes before the start: held, and given back (M1)."""

from okey.money.account import escrow_account, player_account
from okey.money.match import joining_price
from okey.money.stake import hold, void_hold
from services.wallet.books import Books, Note
from services.wallet.command import HoldStake, VoidHold
from services.wallet.decline import (
    HoldCommitted,
    HoldExists,
    HoldVoided,
    InsufficientFunds,
)
from services.wallet.insert import insert_new
from services.wallet.receipt import NOTHING_BOOKED, Receipt
from services.wallet.schema import holds
from services.wallet.states import (
    Hold,
    HoldState,
    MatchState,
    add_hold,
    add_match,
    find_hold,
    find_match,
    lock_open_table,
    lock_table,
    move_hold,
    not_startable,
)


async def hold_stake(books: Books, asked: HoldStake) -> Receipt:
    """M1, M9: take the stake into escrow. Raises a ``Declined``, or ``StakeOutOfRange`` (Ç1)."""
    rules = books.house.rules(asked.rules_version)
    journal = hold(asked.table_id, asked.player_id, asked.stake, rules)
    await lock_open_table(asked.table_id)
    await _open_match(books, asked.match_id, asked.table_id)
    await _insert_hold(books, asked)
    player = player_account(asked.player_id)
    await books.lock([player, escrow_account(asked.table_id)])
    books.refuse_if_closed(player)
    price = joining_price(asked.stake, rules)
    if books.balance(player) < price:
        raise InsufficientFunds(
            f"{player} has {books.balance(player)} chips, joining asks for {price} (M1, M9)"
        )
    note = Note(rules_version=asked.rules_version, table_id=asked.table_id, match_id=asked.match_id)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


async def void_stake(books: Books, asked: VoidHold) -> Receipt:
    """M1: give the stake back whole; one that never came is declined when it comes.

    Raises ``HoldCommitted``.
    """
    gone = {"hold_id": asked.hold_id, "state": HoldState.VOIDED.value}
    if insert_new(books.connection, holds, gone):
        return NOTHING_BOOKED
    held = find_hold(books.connection, asked.hold_id)
    if held is None:
        return NOTHING_BOOKED
    await lock_table(held.table_id)
    if not move_hold(books.connection, held.hold_id, HoldState.VOIDED):
        return _already_moved(books, held)
    await books.lock([player_account(held.player_id), escrow_account(held.table_id)])
    journal = void_hold(held.table_id, held.player_id, held.stake)
    note = Note(rules_version=held.rules_version, table_id=held.table_id, match_id=held.match_id)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


def _already_moved(books: Books, held: Hold) -> Receipt:
    now = find_hold(books.connection, held.hold_id)
    if now is not None and now.state is HoldState.COMMITTED:
        raise HoldCommitted(
            f"hold {held.hold_id} is in the pot of {held.match_id}: only voiding or settling the "
            "match gives chips back (M9, M10)"
        )
    return NOTHING_BOOKED


async def _open_match(books: Books, match_id: str, table_id: str) -> None:
    row = {"match_id": match_id, "table_id": table_id, "state": MatchState.OPEN.value}
    if await add_match(row):
        return
    known = find_match(books.connection, match_id)
    assert known is not None, f"match {match_id} stood in the way a moment ago"
    if known.state is not MatchState.OPEN or known.table_id != table_id:
        raise not_startable(known, table_id)


async def _insert_hold(books: Books, asked: HoldStake) -> None:
    row: dict[str, str | int] = {
        "hold_id": asked.hold_id,
        "state": HoldState.HELD.value,
        "table_id": asked.table_id,
        "match_id": asked.match_id,
        "player_id": asked.player_id,
        "stake": asked.stake,
        "rules_version": asked.rules_version,
    }
    if await add_hold(row):
        return
    known = find_hold(books.connection, asked.hold_id)
    if known is None or known.state is HoldState.VOIDED:
        raise HoldVoided(f"hold {asked.hold_id} was given back: try again with a new hold id (M1)")
    raise HoldExists(f"hold {asked.hold_id} is in use: a new hold needs a new id (M5)")
