"""What must hold once every table has closed and the wallet knows all of it."""

import asyncio
from collections import Counter
from collections.abc import Iterator

from sqlalchemy import Connection, Select, select

from okey.table import events as e
from okey.table.reasons import VoidReason
from okey_runtime.clock import SystemClock
from okey_runtime.database import Database, DatabaseAway
from okey_runtime.identity import Role
from services.engine import schema as engine
from services.engine.record import decode_events
from services.wallet import schema as wallet
from services.wallet.auditing import Auditor, FullAudit
from services.wallet.chain import ChainKeys
from services.wallet.engine_client import EngineClient
from services.wallet.sealer import Sealer
from tests.chaos.leaving import Leaving
from tests.chaos.money.load import Load
from tests.chaos.money.stand import Stand

_LOOK_EVERY_S = 0.1


async def require_all_told(stand: Stand) -> None:
    """Wait until no table has anything left to tell the wallet or the ratings."""
    left = select(engine.tables.c.table_id).where(~engine.tables.c.is_retired).limit(1)
    database = Database(stand.engine_url, connections=1)
    try:
        while True:
            if await _read_first(database, left) is None:
                return
            await asyncio.sleep(_LOOK_EVERY_S)
    finally:
        await database.close()


async def _read_first(database: Database, query: Select[str]) -> str | None:
    def first(connection: Connection) -> str | None:
        return connection.execute(query).scalars().first()

    try:
        return await database.read(first)
    except DatabaseAway:
        return "the server was killed a moment ago"


async def require_exactly_once(stand: Stand, load: Load) -> int:
    """M3, M5: the whole audit is green; what the tables have decided is booked, once each, and
    nothing else; what was acknowledged is stored. Returns how many journals there are.
    """
    books, tables = Database(stand.wallet_url), Database(stand.engine_url)
    try:
        checked = await _whole_audit(stand, books)
        assert checked.findings == []
        assert checked.is_engine_compared
        assert checked.sealed_count == checked.journal_count
        decided = await tables.read(_decided)
        assert await books.read(_booked) == decided
        holds = await books.read(_held)
        assert await books.read(_booked_holds) == Counter(match_id for _, match_id in holds)
        assert await tables.read(_paid_seats) <= {hold_id for hold_id, _ in holds}
        stored = await tables.read(_requests)
        leaving = await tables.read(_leaving)
    finally:
        await books.close()
        await tables.close()
    missing = set(load.acknowledged) - stored
    again = {
        (table_id, request_id, seq)
        for table_id, request_id, seq in missing
        if leaving.is_told_again(table_id, load.leaving.get(request_id, ""), seq)
    }
    assert missing == again, missing - again
    return checked.journal_count


async def _whole_audit(stand: Stand, books: Database) -> FullAudit:
    """Ledger, chain, and the engine's own account of its money events."""
    clock = SystemClock()
    sealer = Sealer(books, ChainKeys.load(stand.chain_key_file, None), clock)
    # The wallet leaves what is younger than a moment for later; here nothing is under way any more.
    await sealer.seal()
    engine_client = EngineClient(await stand.channel("audit", Role.OPERATOR))
    return await Auditor(books, clock, sealer, engine_client).run()


def _events(connection: Connection) -> Iterator[e.Event]:
    rows = select(engine.journal).order_by(engine.journal.c.table_id, engine.journal.c.seq)
    for row in connection.execute(rows):
        yield from decode_events(row.payload)


def _decided(connection: Connection) -> Counter[tuple[str, str]]:
    """By kind and match, how often the tables' rows ask for a journal of that kind."""
    found: Counter[tuple[str, str]] = Counter()
    for event in _events(connection):
        match event:
            case e.MatchEnded():
                found["settle", event.match_id] += 1
            case e.MatchVoided():
                found["void_match", event.match_id] += 1
                # Started in the books, and voided before the deal (W2).
                found["start", event.match_id] += event.reason is VoidReason.LEFT_BEFORE_DEAL
            case e.MatchStarted():
                found["start", event.match_id] += 1
            case e.SeatForfeited():
                found["forfeit", event.match_id] += 1
    return +found


def _booked(connection: Connection) -> Counter[tuple[str, str]]:
    kinds = ("settle", "void_match", "start", "forfeit")
    journals = wallet.journals
    rows = select(journals.c.kind, journals.c.match_id).where(journals.c.kind.in_(kinds))
    return Counter((row.kind, row.match_id) for row in connection.execute(rows))


def _held(connection: Connection) -> list[tuple[str, str]]:
    """Every hold that was ever taken, with its match."""
    holds = wallet.holds
    rows = select(holds.c.hold_id, holds.c.match_id).where(holds.c.table_id.is_not(None))
    return [(row.hold_id, row.match_id) for row in connection.execute(rows)]


def _booked_holds(connection: Connection) -> Counter[str]:
    rows = select(wallet.journals.c.match_id).where(wallet.journals.c.kind == "hold")
    return Counter(connection.execute(rows).scalars())


def _paid_seats(connection: Connection) -> set[str]:
    return {event.hold_id for event in _events(connection) if isinstance(event, e.SeatPaid)}


def _leaving(connection: Connection) -> Leaving:
    journal, leaving = engine.journal, Leaving()
    for row in connection.execute(
        select(journal).where(journal.c.player.is_not(None)).order_by(journal.c.seq)
    ):
        leaving.see(row.table_id, row.seq, row.player, decode_events(row.payload))
    return leaving


def _requests(connection: Connection) -> set[tuple[str, str, int]]:
    journal = engine.journal
    rows = select(journal.c.table_id, journal.c.request_id, journal.c.seq)
    return {(row.table_id, row.request_id, row.seq) for row in connection.execute(rows)}
