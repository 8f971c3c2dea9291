"""M2: a match starts when every seat's stake is held, or nobody's chips move."""

from sqlalchemy import insert, update

from okey.money.account import escrow_account, kasa_account, pot_account
from okey.money.match import MatchMoney
from okey.money.stake import start_match
from okey.rules.variant import Variant
from services.wallet.books import Books, Note
from services.wallet.command import StartMatch
from services.wallet.decline import Declined, HoldsMissing
from services.wallet.receipt import Receipt
from services.wallet.schema import match_seats, matches
from services.wallet.states import (
    MatchState,
    commit_holds,
    find_match,
    lock_open_table,
    move_match,
    not_startable,
)


async def start(books: Books, asked: StartMatch) -> Receipt:
    """M2, Ç2, M7: make pot and kasa of all stakes. Raises a ``Declined``, ``MalformedMatch``."""
    rules = books.house.rules(asked.rules_version)
    await lock_open_table(asked.table_id)
    moved = await move_match(asked.match_id, MatchState.OPEN, MatchState.STARTED)
    if moved is None or moved.table_id != asked.table_id:
        raise _refusal(books, asked)
    payers = _commit_holds(books, asked)
    is_canak = asked.variant is Variant.CANAK
    pot, kasa = pot_account(asked.match_id), kasa_account(asked.table_id)
    await books.lock([escrow_account(asked.table_id), pot, *([kasa] if is_canak else [])])
    money = MatchMoney.opening(
        table_id=asked.table_id,
        match_id=asked.match_id,
        variant=asked.variant,
        mode=asked.mode,
        stake=asked.stake,
        payers=payers,
        kasa_before=books.balance(kasa) if is_canak else 0,
        rules=rules,
    )
    note = Note(rules_version=asked.rules_version, table_id=asked.table_id, match_id=asked.match_id)
    posted = await books.post(start_match(money), note)
    _keep(books, money, asked.rules_version)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs, pot=money.pot, kasa=money.kasa)


def _refusal(books: Books, asked: StartMatch) -> Declined:
    known = find_match(books.connection, asked.match_id)
    if known is not None:
        return not_startable(known, asked.table_id)
    named = tuple(hold_id for hold_id in asked.holds if hold_id is not None)
    return HoldsMissing(f"nobody's stake is held for match {asked.match_id} (M2)", named)


def _commit_holds(books: Books, asked: StartMatch) -> tuple[str | None, ...]:
    """Commit every named hold; the payers by seat. Raises ``HoldsMissing``, naming all of them."""
    named = [hold_id for hold_id in asked.holds if hold_id is not None]
    committed = commit_holds(books.connection, asked.match_id, asked.stake, named)
    # Taken out one by one: a hold that is named for two seats pays only one.
    payers = [committed.pop(hold_id, None) for hold_id in named]
    missing = tuple(hold_id for hold_id, payer in zip(named, payers, strict=True) if payer is None)
    if missing:
        raise HoldsMissing(
            f"not held for {asked.match_id} at {asked.stake} chips: {', '.join(missing)} (M2)",
            missing,
        )
    paid = iter(payers)
    return tuple(None if hold_id is None else next(paid) for hold_id in asked.holds)


def _keep(books: Books, money: MatchMoney, rules_version: str) -> None:
    books.connection.execute(
        update(matches)
        .where(matches.c.match_id == money.match_id)
        .values(
            variant=money.variant.value,
            mode=money.mode.value,
            stake=money.stake,
            kasa_share=money.kasa_share,
            rules_version=rules_version,
        )
    )
    books.connection.execute(
        insert(match_seats),
        [
            {
                "match_id": money.match_id,
                "seat": number,
                "payer": seat.payer,
                "is_given_up": False,
                "penalty": 0,
                "shortfall": 0,
            }
            for number, seat in enumerate(money.seats)
        ],
    )
