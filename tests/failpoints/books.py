"""What a run leaves in the two databases, and what must hold of it however often it crashed."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from okey_runtime.clock import VirtualClock
from okey_runtime.database import Database
from services.wallet import schema
from services.wallet.wallet import Wallet
from tests.factories import TABLE_ID
from tests.failpoints.crashing import Crashing
from tests.failpoints.door import HOUSE


@dataclass(frozen=True, order=True)
class Booked:
    """One journal, without what depends on when it was booked."""

    kind: str
    match_id: str
    legs: tuple[tuple[str, int], ...]


def booked(connection: Connection) -> list[Booked]:
    """Every journal, in an order of its own."""
    legs: dict[int, list[tuple[str, int]]] = {}
    for row in connection.execute(select(schema.postings)):
        legs.setdefault(row.journal_id, []).append((row.account, row.amount))
    return sorted(
        Booked(row.kind, row.match_id or "", tuple(sorted(legs.get(row.journal_id, ()))))
        for row in connection.execute(select(schema.journals))
    )


async def require_exactly_once(on: Crashing, expected: Sequence[Booked]) -> list[Booked]:
    """M3, M5: the ledger is right and the same as without a crash; what was acknowledged is there.

    Journal for journal the same: so every stake, start, settlement, penalty, void and closing is
    there, and once.
    """
    database = on.door.database
    found = await database.read(booked)
    assert not expected or found == list(expected)
    assert (await Wallet(database, HOUSE, VirtualClock()).audit()).findings == ()
    stored = [(row.request, row.seq) for row in await on.journal.rows(TABLE_ID)]
    assert all(answer in stored for answer in on.acknowledged)
    assert on.acknowledged
    answered = await answers(database)
    assert {key: answered.get(key) for key in on.door.acknowledged} == on.door.acknowledged
    return found


async def answers(database: Database) -> dict[str, int]:
    """By key, the journal that a request was answered with; 0 for none."""
    rows = await database.read(lambda c: c.execute(select(schema.requests)).all())
    return {row.idempotency_key: row.journal_id or 0 for row in rows}
