"""What a request came to, booked or declined; kept for good under the request's key (M5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select

from okey.money.account import Account
from okey.money.journal import Leg
from services.wallet.command import Command, fingerprint
from services.wallet.decline import DECLINES, Declined, TransferIdReused
from services.wallet.insert import Row, insert_new_rows
from services.wallet.schema import journals, postings, requests
from services.wallet.step import Step, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was booked; amounts in chips, 0 where the request has no such figure."""

    journal_id: int | None
    legs: tuple[Leg, ...] = ()
    pot: int = 0
    kasa: int = 0
    penalty: int = 0
    shortfall: int = 0


_REQUEST: Final = select(requests).where(requests.c.idempotency_key == bindparam("key"))

NOTHING_BOOKED = Receipt(journal_id=None)


def recall(connection: Connection, key: str, command: Command) -> Receipt | Declined | None:
    """What the key came to before, None for a new key. Raises ``TransferIdReused``."""
    row = connection.execute(_REQUEST, {"key": key}).one_or_none()
    if row is None:
        return None
    if row.request_hash != fingerprint(command):
        raise TransferIdReused(key, _first(connection, row))
    if row.decline_reason is not None:
        hold_ids = tuple(row.decline_hold_ids.split(",")) if row.decline_hold_ids else ()
        return DECLINES[row.decline_reason](row.decline_message, hold_ids)
    return Receipt(
        journal_id=row.journal_id,
        legs=legs_of(connection, row.journal_id),
        pot=row.pot,
        kasa=row.kasa,
        penalty=row.penalty,
        shortfall=row.shortfall,
    )


def _first(connection: Connection, row: Any) -> str:
    """What a request came to, in words."""
    if row.decline_reason is not None:
        return f"a request that was declined ({row.decline_reason})"
    if row.journal_id is None:
        return "a request that had nothing to book"
    kind = select(journals.c.kind).where(journals.c.journal_id == row.journal_id)
    return f"journal {row.journal_id} ({connection.execute(kind).scalar_one()})"


async def remember(key: str, command: Command, result: Receipt | Declined, now_ms: int) -> bool:
    """Keep what the key came to; False where somebody else has used the key meanwhile."""
    receipt = result if isinstance(result, Receipt) else NOTHING_BOOKED
    decline = result if isinstance(result, Declined) else None
    return await _ADD.ask(
        {
            "idempotency_key": key,
            "request_hash": fingerprint(command),
            "answered_ms": now_ms,
            "journal_id": receipt.journal_id,
            "pot": receipt.pot,
            "kasa": receipt.kasa,
            "penalty": receipt.penalty,
            "shortfall": receipt.shortfall,
            "decline_reason": decline.reason if decline else None,
            "decline_message": str(decline) if decline else None,
            "decline_hold_ids": ",".join(decline.hold_ids) if decline else None,
        },
    )


def _add(connection: Connection, rows: Sequence[Row]) -> list[bool]:
    return insert_new_rows(connection, requests, rows)


_ADD: Final = Step(Turn.REQUESTS, _add)


def legs_of(connection: Connection, journal_id: int | None) -> tuple[Leg, ...]:
    """The journal's legs, by account name; none for no journal."""
    rows = connection.execute(
        select(postings.c.account, postings.c.amount)
        .where(postings.c.journal_id == journal_id)
        .order_by(postings.c.account)
    )
    return tuple(Leg(Account(row.account), row.amount) for row in rows)
