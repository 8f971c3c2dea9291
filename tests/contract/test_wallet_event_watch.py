"""What nobody asked for is found between two audits, on both databases."""

import pytest
from prometheus_client import REGISTRY

from services.wallet.auditing import Auditor
from services.wallet.command import CloseTable, GrantChips
from services.wallet.engine_events import EngineAway
from services.wallet.event_watch import EventWatch
from services.wallet.finding import FindingKind
from services.wallet.sealer import SETTLE_MS
from tests.contract.test_wallet_audit import Audited
from tests.contract.wallet_play import TABLE
from tests.fixtures.ledger import LedgerDatabase

BY_HAND = (
    "INSERT INTO journals (kind, rules_version, booked_ms, actor, reason, legs, table_id) VALUES "
    "('{kind}', 'v', {ms}, 'ada', 'by hand', "
    """'{{"player:A": {chips}, "system:issuance": -{chips}}}', {table})"""
)


def counted() -> float:
    """What the metric says."""
    return (
        REGISTRY.get_sample_value("okey_wallet_audit_findings", {"kind": "journal_without_event"})
        or 0.0
    )


class Watched(Audited):
    """A ledger whose watch has begun."""

    def __init__(self, database: LedgerDatabase) -> None:
        super().__init__(database)
        self.watch = EventWatch(database, self.clock, self.engine, self.auditor)

    async def look(self) -> list[str]:
        """What a look finds, once what was booked is old enough."""
        self.clock.advance_ms(SETTLE_MS)
        found = await self.watch.look()
        assert {each.kind for each in found} <= {FindingKind.JOURNAL_WITHOUT_EVENT}
        return [each.subject for each in found]

    async def by_hand(self, kind: str, table: str = "NULL") -> None:
        """Book something in the database, past the wallet."""
        ms = self.clock.now_ms()
        await self.database.run(BY_HAND.format(kind=kind, ms=ms, chips=7, table=table))


@pytest.fixture
async def watched(database: LedgerDatabase) -> Watched:
    watched = Watched(database)
    await watched.play.purse("A")
    assert await watched.look() == []
    return watched


async def test_what_engine_and_operators_ask_for_is_no_finding(watched: Watched) -> None:
    """M5."""
    await watched.ask("k1", watched.play.holding(0, "A"))
    await watched.play.grant("A", 5)
    assert await watched.look() == []


async def test_a_booking_that_the_engine_knows_nothing_of_alerts_at_once(watched: Watched) -> None:
    """M5: as with a stolen token of the engine; its table stands still from then on."""
    before = counted()
    await watched.ask("k1", watched.play.holding(0, "A"))
    await watched.play.hold(1, "B")
    assert await watched.look() == ["journal:4"]
    assert counted() == before + 1
    assert list(watched.engine.quarantined) == [TABLE]
    assert await watched.look() == []


@pytest.mark.parametrize(
    ("kind", "table"), [("grant", "NULL"), ("reversal", "NULL"), ("settle", f"'{TABLE}'")]
)
async def test_a_booking_past_the_wallet_alerts_at_once(
    watched: Watched, kind: str, table: str
) -> None:
    """M5: as with a stolen password of the database."""
    await watched.by_hand(kind, table)
    assert await watched.look() == ["journal:2"]


async def test_an_answer_to_other_content_is_no_answer(watched: Watched) -> None:
    """M5: the key alone does not count."""
    watched.engine.tell("k1", CloseTable(table_id=TABLE))
    await watched.play.ask(watched.play.holding(0, "A"), "k1")
    assert await watched.look() == ["journal:2"]


async def test_what_is_being_booked_waits_for_the_next_look(watched: Watched) -> None:
    """M5: and is not lost there."""
    await watched.play.hold(0, "A")
    assert await watched.watch.look() == []
    assert await watched.look() == ["journal:2"]


async def test_what_could_not_be_compared_is_compared_later(watched: Watched) -> None:
    """M5: the engine is away for one look."""
    await watched.play.hold(0, "A")
    watched.engine.is_away = True
    with pytest.raises(EngineAway):
        await watched.look()
    watched.engine.is_away = False
    assert await watched.look() == ["journal:2"]


async def test_a_table_that_the_engine_cannot_read_is_left_to_the_audit(watched: Watched) -> None:
    """M5."""
    await watched.play.hold(0, "A")
    watched.engine.unreadable = [TABLE]
    assert await watched.look() == []


async def test_without_an_engine_only_operators_are_watched(watched: Watched) -> None:
    """M5: there is nothing to compare tables with."""
    alone = EventWatch(
        watched.database, watched.clock, None, Auditor(watched.database, watched.clock, None, None)
    )
    assert await alone.look() == []
    await watched.play.hold(0, "A")
    await watched.by_hand("grant")
    asked = GrantChips(player_id="A", amount=5, actor="op", reason="a test")
    await watched.play.ask(asked)
    watched.clock.advance_ms(SETTLE_MS)
    assert [each.subject for each in await alone.look()] == ["journal:3"]


async def test_every_kind_of_finding_is_counted_from_the_start() -> None:
    """An alert sees the first finding as a change from 0."""
    for kind in FindingKind:
        labels = {"kind": str(kind)}
        assert REGISTRY.get_sample_value("okey_wallet_audit_findings", labels) is not None
