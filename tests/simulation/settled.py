"""What must hold once everything has come to rest: the three databases against each other.

The journal of the engine is the truth. What players saw of it is checked as in the chaos of tables;
here the wallet's chips are held against ``okey.money``, and ratings against the matches.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, func, select

from okey.money.account import Account
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.simulation.ledger import DictionaryLedger
from okey.table import events as e
from services.engine import schema as engine_schema
from services.engine.archive import stored_rows
from services.engine.record import Row, decode_events
from services.rating import rebuild
from services.rating import schema as rating_schema
from services.rating.rulebook import RuleBook
from services.wallet import schema as wallet_schema
from services.wallet.audit import audit
from tests.chaos.tables.checker import check
from tests.chaos.tables.clocks import AWAKE
from tests.chaos.tables.history import ClientHistory, History
from tests.chaos.tables.replay import Step, Unreplayable, replay
from tests.simulation.platform import WELCOME_CHIPS, Platform

_UNNOTICED_MS: Final = 2_600
"""So long a pause may pass for a slow answer: ``stall_ms``, two beats, and a message on its way."""

_KEYED: Final = ("/okey.api.wallet.", "/okey.api.rating.")
"""Services whose requests carry a key."""

Replays = Mapping[str, Sequence[Step]]


def check_settled(
    platform: Platform, clients: Sequence[ClientHistory], counts: Counter[str]
) -> Iterator[str]:
    """Everything that is wrong; ``counts`` gets what was played."""
    engine, wallet, rating = (platform.disks[name] for name in ("engine", "wallet", "rating"))
    rows = engine.run(_rows)
    history = History(platform.outages, _UNNOTICED_MS, clients, rows, wallet.run(_booked))
    # Whoever's messages are lost again and again loses a turn though awake.
    yield from (str(found) for found in check(history) if found.check != AWAKE)
    try:
        replays = {table_id: replay(table) for table_id, table in rows.items()}
    except Unreplayable:
        return  # told above
    _count(replays, counts)
    yield from engine.run(_at_rest)
    yield from (f"audit: {found}" for found in wallet.run(audit).findings)
    yield from _chips(replays, wallet.run(_balances))
    yield from _records(replays, rating.run(_recorded))
    rebuilt = rating.run(
        lambda c: rebuild.rebuild(c, RuleBook(DEFAULT_RULE_SET), repair=False, tell=lambda _: None)
    )
    yield from (f"rating: {found}" for found in rebuilt.differences)
    yield from _same_answers(platform)


# The engine ---------------------------------------------------------------------------------------


def _rows(connection: Connection) -> dict[str, list[Row]]:
    ids = connection.execute(select(engine_schema.tables.c.table_id)).scalars().all()
    return {
        table_id: [
            Row(row.seq, row.at_ms, decode_events(row.payload), row.request, row.payload)
            for row in stored_rows(connection, table_id, 0)
        ]
        for table_id in sorted(ids)
    }


def _at_rest(connection: Connection) -> Iterator[str]:
    tables = engine_schema.tables
    open_ones = connection.execute(select(tables.c.table_id).where(~tables.c.is_retired))
    found = [f"table {each} is not retired" for each in open_ones.scalars()]
    seated = connection.execute(select(engine_schema.seated)).all()
    found += [f"{row.player} still sits at table {row.table_id}" for row in seated]
    stopped = connection.execute(select(engine_schema.quarantined)).all()
    found += [f"table {row.table_id} stands still: {row.reason}" for row in stopped]
    return iter(found)


def _count(replays: Replays, counts: Counter[str]) -> None:
    for steps in replays.values():
        counts["tables"] += 1
        counts["rows"] += len(steps)
        for step in steps:
            for event in step.row.events:
                match event:
                    case e.MatchEnded():
                        counts["matches"] += 1
                        counts[event.kind.name] += 1
                    case e.MatchVoided() | e.SeatForfeited() | e.TurnTimedOut():
                        counts[type(event).__name__] += 1
                    case e.TableTakenOver():
                        counts["TableTakenOver"] += 1
                    case e.SeatDeclined() | e.PlayerReturned():
                        counts[type(event).__name__] += 1
                    case _:
                        continue


# The wallet ---------------------------------------------------------------------------------------


def _booked(connection: Connection) -> Counter[tuple[str, str]]:
    journals = wallet_schema.journals
    rows = connection.execute(select(journals.c.kind, journals.c.match_id))
    return Counter((row.kind, row.match_id or "") for row in rows)


def _balances(connection: Connection) -> Counter[Account]:
    """Of every account, the sum of its postings."""
    postings = wallet_schema.postings
    query = select(postings.c.account, func.sum(postings.c.amount)).group_by(postings.c.account)
    return Counter({Account(name): int(total) for name, total in connection.execute(query)})


def _chips(replays: Replays, found: Counter[Account]) -> Iterator[str]:
    """M3, M4: every account holds what the journal's events and the money rules come to."""
    expected: Counter[Account] = Counter()
    known: set[str] = set()
    for steps in replays.values():
        ledger = DictionaryLedger(steps[0].after.config, expected)
        for step in steps:
            for event in step.row.events:
                if isinstance(event, e.SeatRequested) and event.player not in known:
                    known.add(event.player)
                    ledger.welcome(event.player, WELCOME_CHIPS)
                ledger.take(event)
    for account in sorted(expected.keys() | found.keys()):
        if expected[account] != found[account]:
            yield f"{account} holds {found[account]} chips, the rules say {expected[account]}"
        if account.startswith(("escrow:", "pot:", "kasa:")) and found[account]:
            yield f"{account} still holds {found[account]} chips"


# The ratings --------------------------------------------------------------------------------------


def _recorded(connection: Connection) -> Counter[tuple[str, str]]:
    records = rating_schema.records
    rows = connection.execute(select(records.c.match_id, records.c.player_id))
    return Counter((row.match_id, row.player_id) for row in rows)


def _records(replays: Replays, found: Counter[tuple[str, str]]) -> Iterator[str]:
    """R1..R5: each match once, and each forfeit of it that is penalised."""
    expected: Counter[tuple[str, str]] = Counter()
    for steps in replays.values():
        for step in steps:
            for event in step.row.events:
                match event:
                    case e.MatchEnded():
                        expected[event.match_id, ""] += 1
                    case e.SeatForfeited(is_penalised=True):
                        expected[event.match_id, event.player] += 1
                    case _:
                        continue
    for record in sorted(expected.keys() | found.keys()):
        if expected[record] != found[record]:
            match_id, player = record
            what = f"the forfeit of {player} in {match_id}" if player else f"match {match_id}"
            yield f"{what} is rated {found[record]} times, not {expected[record]}"


# Between them -------------------------------------------------------------------------------------


def _same_answers(platform: Platform) -> Iterator[str]:
    """M5: a request that is asked again gets the answer that it got before."""
    answers: dict[tuple[str, bytes], bytes] = {}
    for method, asked, answered in platform.network.answers:
        if not method.startswith(_KEYED):
            continue  # an answer there says how things stand by now
        if answers.setdefault((method, asked), answered) != answered:
            yield f"{method} gave two answers to one request"
