"""A started match in the wallet's books: give up, settle, void (M9, M10, Ç3..Ç7, K7, K10)."""

from dataclasses import dataclass

from sqlalchemy import update

from okey.money.account import (
    escrow_account,
    kasa_account,
    player_account,
    pot_account,
)
from okey.money.forfeit import forfeit
from okey.money.journal import Journal
from okey.money.match import MatchMoney, SeatMoney
from okey.money.settle import settle
from okey.money.stake import void_match, void_open_match
from okey.rules.rule_set import RuleSet
from okey.rules.variant import Mode, Variant
from services.wallet.books import Books, Note
from services.wallet.command import ForfeitSeat, SettleMatch, VoidMatch
from services.wallet.decline import SeatNotOwned
from services.wallet.receipt import NOTHING_BOOKED, Receipt
from services.wallet.schema import match_seats
from services.wallet.states import (
    HoldState,
    Match,
    MatchState,
    find_match,
    held_of_match,
    lock_table_of,
    move_hold,
    move_match,
    not_running,
    seats_of,
)


@dataclass(frozen=True, slots=True)
class _Running:
    """A match as it was started, its accounts locked."""

    money: MatchMoney
    rules: RuleSet
    note: Note


async def settle_match(books: Books, asked: SettleMatch) -> Receipt:
    """Pay the pot out. Raises a ``Declined``, or ``OutcomeDoesNotFit``, ``MalformedMatch``."""
    await lock_table_of(asked.match_id)
    moved = await move_match(asked.match_id, MatchState.STARTED, MatchState.SETTLED)
    if moved is None:
        raise not_running(books.connection, asked.match_id)
    running = await _load(books, moved)
    return await _post(books, running, settle(running.money, asked.outcome, running.rules))


async def void(books: Books, asked: VoidMatch) -> Receipt:
    """M10: give every stake back, before or after the start. Raises a ``Declined``."""
    table_id = await lock_table_of(asked.match_id)
    if await move_match(asked.match_id, MatchState.OPEN, MatchState.VOIDED):
        return await _void_open(books, asked.match_id, table_id)
    moved = await move_match(asked.match_id, MatchState.STARTED, MatchState.VOIDED)
    if moved is None:
        raise not_running(books.connection, asked.match_id)
    running = await _load(books, moved)
    return await _post(books, running, void_match(running.money))


async def forfeit_seat(books: Books, asked: ForfeitSeat) -> Receipt:
    """M9: book the penalty, the seat is the house's. Raises a ``Declined``, ``MalformedMatch``."""
    await lock_table_of(asked.match_id)
    match = find_match(books.connection, asked.match_id)
    if match is None or match.state is not MatchState.STARTED:
        raise not_running(books.connection, asked.match_id)
    running = await _load(books, match)
    owner = running.money.owner(asked.seat)
    if owner is None:
        raise SeatNotOwned(
            f"seat {asked.seat} of {asked.match_id} is the house's: nobody can give it up (M9)"
        )
    available = books.available(player_account(owner))
    cost = forfeit(running.money, asked.seat, available, running.rules, asked.cause)
    _give_up(books, asked, cost.penalty, cost.shortfall)
    if cost.journal is None:
        return Receipt(journal_id=None, shortfall=cost.shortfall)
    posted = await books.post(cost.journal, running.note)
    return Receipt(
        journal_id=posted.journal_id,
        legs=posted.legs,
        penalty=cost.penalty,
        shortfall=cost.shortfall,
    )


def _give_up(books: Books, asked: ForfeitSeat, penalty: int, shortfall: int) -> None:
    seat = (match_seats.c.match_id == asked.match_id) & (match_seats.c.seat == asked.seat)
    changed = books.connection.execute(
        update(match_seats)
        .where(seat, match_seats.c.is_given_up.is_(False))
        .values(is_given_up=True, penalty=penalty, shortfall=shortfall)
        .returning(match_seats.c.seat)
    )
    if changed.one_or_none() is None:
        raise SeatNotOwned(f"seat {asked.seat} of {asked.match_id} was given up before (M9)")


async def _void_open(books: Books, match_id: str, table_id: str) -> Receipt:
    held = [
        hold
        for hold in held_of_match(books.connection, match_id)
        if move_hold(books.connection, hold.hold_id, HoldState.VOIDED)
    ]
    journal = void_open_match(table_id, [(hold.player_id, hold.stake) for hold in held])
    if journal is None:
        return NOTHING_BOOKED
    await books.lock([escrow_account(table_id), *(player_account(hold.player_id) for hold in held)])
    note = Note(rules_version=held[0].rules_version, table_id=table_id, match_id=match_id)
    posted = await books.post(journal, note)
    return Receipt(journal_id=posted.journal_id, legs=posted.legs)


async def _load(books: Books, match: Match) -> _Running:
    """The match that was started, after locking all accounts that its end may touch."""
    assert match.variant is not None
    assert match.mode is not None
    assert match.stake is not None
    assert match.kasa_share is not None
    assert match.rules_version is not None
    seats = tuple(
        SeatMoney(seat.payer, None if seat.is_given_up else seat.payer)
        for seat in await seats_of(match.match_id)
    )
    payers = [player_account(seat.payer) for seat in seats if seat.payer is not None]
    kasa = [kasa_account(match.table_id)] if match.variant == Variant.CANAK else []
    await books.lock([pot_account(match.match_id), *kasa, *payers])
    money = MatchMoney(
        table_id=match.table_id,
        match_id=match.match_id,
        variant=Variant(match.variant),
        mode=Mode(match.mode),
        stake=match.stake,
        seats=seats,
        kasa=sum(books.balance(each) for each in kasa),
        kasa_share=match.kasa_share,
    )
    rules = books.house.rules(match.rules_version)
    note = Note(rules_version=match.rules_version, table_id=match.table_id, match_id=match.match_id)
    return _Running(money, rules, note)


async def _post(books: Books, running: _Running, journal: Journal) -> Receipt:
    posted = await books.post(journal, running.note)
    is_canak = running.money.variant is Variant.CANAK
    kasa = books.balance(running.money.kasa_account) if is_canak else 0
    return Receipt(journal_id=posted.journal_id, legs=posted.legs, kasa=kasa)
