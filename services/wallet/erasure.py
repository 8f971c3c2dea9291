"""Closing a player's account for good: its chips are nobody's, nothing is booked on it any more.

The ledger is only added to, so its postings stay under the player's id, which says nothing of the
person.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlalchemy import Connection, insert, select, update

from okey.errors import Refused
from okey.money.account import player_account
from okey.money.stake import erase
from okey_runtime.erasable import refuse_unknown
from services.wallet.books import Books, House, Note
from services.wallet.chain_schema import account_closures
from services.wallet.decline import AccountFrozen
from services.wallet.schema import accounts, holds, match_seats, matches
from services.wallet.states import HoldState, MatchState
from services.wallet.step import alone


class PlayerHolding(Refused):
    """The player has a held stake or a part in a running match; when that is over, ask again."""

    reason = "PLAYER_HOLDING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Who shall be erased, by whom, and why; ``allow_unknown`` closes an id without an account."""

    player_id: str
    actor: str
    reason: str
    allow_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """Whether the account was open before, and the chips that became nobody's."""

    changed: bool
    unclaimed: int


def close_account(connection: Connection, asked: Erase, house: House, now_ms: int) -> Closed:
    """Close the account once; one that was never used is closed too, without a welcome grant.

    Raises ``PlayerHolding``, ``AccountFrozen``, ``PlayerUnknown``.
    """
    books = Books(connection, replace(house, welcome_chips=0), now_ms)
    account = player_account(asked.player_id)
    known = select(accounts.c.account).where(accounts.c.account == account)
    is_known = connection.execute(known).scalar() is not None
    refuse_unknown(asked.player_id, is_known=is_known, is_allowed=asked.allow_unknown)
    # Whoever holds a stake of it locks the account last, and then finds it closed.
    alone(connection, books.lock([account]))
    closed = connection.execute(
        select(account_closures.c.unclaimed).where(account_closures.c.account == account)
    ).scalar_one_or_none()
    if closed is not None:
        return Closed(False, closed)
    for what in _held(connection, asked.player_id):
        raise PlayerHolding(
            f"{asked.player_id} has {what}: its chips are not only its own, try when that is over"
        )
    balance = books.balance(account)
    if books.available(account) < balance:
        raise AccountFrozen(f"{account} is frozen: lift that first (okeyctl wallet unfreeze)")
    journal = erase(asked.player_id, balance)
    if journal is not None:
        note = Note(rules_version=house.current_version, actor=asked.actor, reason=asked.reason)
        alone(connection, books.post(journal, note))
    connection.execute(
        insert(account_closures).values(
            account=account,
            closed_ms=now_ms,
            unclaimed=balance,
            actor=asked.actor,
            reason=asked.reason,
        )
    )
    connection.execute(update(accounts).where(accounts.c.account == account).values(is_closed=True))
    return Closed(True, balance)


def _held(connection: Connection, player_id: str) -> Iterator[str]:
    """What of the player's is at stake."""
    held = select(holds.c.hold_id, holds.c.table_id).where(
        holds.c.player_id == player_id, holds.c.state == HoldState.HELD
    )
    for row in connection.execute(held.limit(1)):
        yield f"a stake held at table {row.table_id}"
    # Also a seat that was given up: voiding the match would give its stake back (M10).
    running = (
        select(matches.c.match_id)
        .join(match_seats, match_seats.c.match_id == matches.c.match_id)
        .where(match_seats.c.payer == player_id, matches.c.state == MatchState.STARTED)
    )
    for row in connection.execute(running.limit(1)):
        yield f"a seat in the running match {row.match_id}"
