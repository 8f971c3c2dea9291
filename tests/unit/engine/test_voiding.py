"""An operator ends a table, whatever it does: once, with the wallet told."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete

from okey.api.wallet.v1 import wallet_pb2
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import TableIsClosed
from okey.table.reasons import CloseReason
from okey.table.state import SeatStatus
from okey_runtime.database import Database, DatabaseAway
from services.engine import schema
from services.engine.appending import Append
from services.engine.errors import NoSuchTable, TableQuarantined, WalletAway
from services.engine.journal import Journal
from services.engine.money_events import MoneyEvents
from services.engine.operators import Operators
from services.engine.record import Request
from services.engine.voiding import Ended, matches_to_void
from tests.unit.engine.doubles import AWAY, declined
from tests.unit.engine.operating import END, UNREADABLE, reboot, voiding
from tests.unit.engine.world import (
    TABLE_ID,
    World,
    turn_of,
    until,
    world_in,
)


async def test_an_operator_ends_a_running_table(tmp_path: Path) -> None:
    """M10: stakes go back, the players are free, and the table says who did so and why."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        asked = world.request("olga")
        ended = await voiding(world).void_table(actor.table_id, "olga", "a bug", asked)
        assert ended == Ended(actor.seq)
        closed = (await world.journal.rows(TABLE_ID))[-1].events[-1]
        assert closed == e.TableClosed(CloseReason.VOIDED, "olga", "a bug")
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        assert world.wallet.script.names[-2:] == ["VoidMatch", "CloseTable"]
        await reboot(world)
        again = await voiding(world).void_table(actor.table_id, "olga", "a bug", asked)
        assert again == ended
        assert await world.journal.seated_at("anna") == ""
        with pytest.raises(TableIsClosed):
            await voiding(world).void_table(TABLE_ID, "olga", "once more", world.request("olga"))


async def test_a_table_that_stands_still_is_ended_and_a_refusal_leaves_it_so(
    tmp_path: Path,
) -> None:
    """M10: nothing but the operator's command happens there."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await world.interventions.quarantine(TABLE_ID, "audit")
        world.journal.losses = ["", "before"]
        with pytest.raises(DatabaseAway):
            await world.interventions.void(TABLE_ID, END, world.request("olga"))
        assert world.tables.quarantine.tables[TABLE_ID].reason == "audit"
        await reboot(world)
        assert world.tables.quarantine.tables.keys() == {TABLE_ID}
        accepted = await world.interventions.void(TABLE_ID, END, world.request("olga"))
        assert [type(x).__name__ for x in accepted.events][-1] == "TableClosed"
        assert world.tables.quarantine.tables == {}
        await world.wallet.script.until(lambda script: script.names[-1] == "CloseTable")
        await reboot(world)
        assert world.tables.quarantine.tables == {}
        assert actor.table_id not in [each.table_id for each in world.tables.live()]


async def test_while_an_operator_ends_a_table_that_stands_still_nobody_else_can_use_it(
    tmp_path: Path,
) -> None:
    """M10: also between its being loaded and the operator's command; two may ask at once."""
    async with world_in(tmp_path) as world:
        await world.dealt()
        await world.interventions.quarantine(TABLE_ID, "audit")
        world.journal.hold()
        asking = [
            asyncio.create_task(world.interventions.void(TABLE_ID, END, world.request(operator)))
            for operator in ("olga", "oskar")
        ]
        appends = world.journal.appends
        async with asyncio.timeout(10):
            while world.journal.appends == appends:
                await asyncio.wait(asking, timeout=0.01)
        with pytest.raises(TableQuarantined):
            await world.tables.get(TABLE_ID)
        assert world.tables.quarantine.tables.keys() == {TABLE_ID}
        world.journal.let_go()
        first, second = await asyncio.gather(*asking, return_exceptions=True)
        assert not isinstance(first, BaseException)
        assert isinstance(second, TableIsClosed)
        assert world.tables.quarantine.tables == {}


async def broken(world: World) -> Request:
    """A table in its first match whose newest row cannot be read; the operator's request."""
    actor = await world.dealt()
    await world.crash()
    database = Database(world.url)
    row = Append(TABLE_ID, actor.seq + 1, world.steady.now_ms(), UNREADABLE)
    assert await Journal(database).append([row]) == [None]
    await database.close()
    await world.boot()
    assert world.tables.quarantine.tables[TABLE_ID].reason == "its rows do not replay (DecodeError)"
    return world.request("olga")


async def test_who_asks_and_goes_away_leaves_a_table_that_stands_still_as_it_is(
    tmp_path: Path,
) -> None:
    """Its caller's deadline may end while it is being loaded: nothing else happens there then."""
    async with world_in(tmp_path) as world:
        await world.dealt()
        await world.interventions.quarantine(TABLE_ID, "audit")
        asking = asyncio.create_task(world.interventions.void(TABLE_ID, END, world.request("olga")))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await asyncio.sleep(0.3)
        assert world.tables.quarantine.tables[TABLE_ID].reason == "audit"
        assert world.tables.live() == []
        with pytest.raises(TableQuarantined):
            await world.tables.get(TABLE_ID)
        await world.interventions.void(TABLE_ID, END, world.request("olga"))
        assert world.tables.quarantine.tables == {}


async def test_a_table_that_does_not_replay_can_be_stopped_for_good(tmp_path: Path) -> None:
    """A version that can read it again does not let it go on before it is released."""
    async with world_in(tmp_path) as world:
        await broken(world)
        assert not await world.interventions.quarantine(TABLE_ID, "wallet: ESCROW_DIFFERS")
        database = Database(world.url)
        mended = delete(schema.journal).where(schema.journal.c.payload == UNREADABLE)

        def mend(connection: Connection) -> None:
            connection.execute(mended)

        await database.transact(mend)
        await database.close()
        await reboot(world)
        assert world.tables.quarantine.tables[TABLE_ID].reason == "wallet: ESCROW_DIFFERS"
        released = await world.interventions.release(TABLE_ID)
        assert turn_of(released).deadline_ms > world.steady.now_ms()
        assert world.tables.quarantine.tables == {}


async def test_a_table_that_does_not_replay_is_voided_with_the_wallet_alone(
    tmp_path: Path,
) -> None:
    """M10: by the matches that its readable rows name; the players are free (W3)."""
    async with world_in(tmp_path) as world:
        asked = await broken(world)
        matches = (f"{TABLE_ID}-1", f"{TABLE_ID}-2")
        world.wallet.script.plan = [None, declined("MATCH_NOT_STARTED"), None]
        ended = await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        assert ended == Ended(0, matches)
        calls = world.wallet.script.calls[-3:]
        assert [getattr(call, "match_id", "") for call in calls] == [*matches, ""]
        assert isinstance(calls[-1], wallet_pb2.CloseTableRequest)
        assert world.tables.quarantine.tables == {}
        assert await world.journal.seated_at("anna") == ""
        with pytest.raises(TableIsClosed):
            await world.tables.get(TABLE_ID)
        assert world.tables.quarantine.tables == {}
        again = await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        assert again == ended
        await reboot(world)
        assert world.tables.quarantine.tables == {}
        assert world.tables.live() == []


async def test_a_voided_table_stays_closed_where_another_version_can_read_it(
    tmp_path: Path,
) -> None:
    """M10: its rows still say that a match is running; nobody plays it."""
    async with world_in(tmp_path) as world:
        asked = await broken(world)
        await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        await world.database.transact(heal)
        await reboot(world)
        with pytest.raises(TableIsClosed):
            await world.tables.get(TABLE_ID)
        assert len(await world.journal.rows(TABLE_ID)) > 0
        assert world.tables.live() == []


def heal(connection: Connection) -> None:
    connection.execute(delete(schema.journal).where(schema.journal.c.payload == UNREADABLE))


async def test_the_wallet_away_leaves_it_to_be_asked_again(tmp_path: Path) -> None:
    """M5: what was begun is gone on with under the same keys, by whoever asks again."""
    async with world_in(tmp_path) as world:
        asked = await broken(world)
        world.wallet.script.plan = [None, AWAY]
        with pytest.raises(WalletAway):
            await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        assert world.tables.quarantine.tables.keys() == {TABLE_ID}
        first = len(world.wallet.script.calls)
        await reboot(world)
        await voiding(world).void_table(TABLE_ID, "oskar", "broken too", world.request("oskar"))
        keys = [getattr(call, "idempotency_key", "") for call in world.wallet.script.calls]
        assert keys[first - 2 : first] == keys[first : first + 2]
        kept = await Operators(world.database).voided(TABLE_ID)
        assert kept is not None
        assert (kept.operator, kept.reason, kept.is_done) == ("olga", "broken", True)


async def test_what_the_wallet_keeps_is_said(tmp_path: Path) -> None:
    """M10: a stake that no readable row names is the operator's to give back."""
    async with world_in(tmp_path) as world:
        asked = await broken(world)
        world.wallet.script.plan = [None, None, declined("TABLE_NOT_IDLE")]
        ended = await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        assert ended.left_at_wallet == "TABLE_NOT_IDLE"


async def test_the_export_shows_a_voided_table_with_what_the_wallet_was_told(
    tmp_path: Path,
) -> None:
    """M5: before it is voided it is unreadable; then the audit has every key again."""
    async with world_in(tmp_path) as world:
        asked = await broken(world)
        export = MoneyEvents(world.journal, Operators(world.database))
        [unreadable] = [event async for event in export.of([TABLE_ID])]
        assert unreadable.WhichOneof("request") is None
        await voiding(world).void_table(TABLE_ID, "olga", "broken", asked)
        events = [event async for event in export.of()]
        kinds = [event.WhichOneof("request") for event in events]
        assert kinds == [
            *("hold_stake", "hold_stake", "start_match"),
            *("void_match", "void_match", "close_table"),
        ]
        assert all(event.is_told for event in events[-3:])


async def test_only_known_tables_are_voided(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        with pytest.raises(NoSuchTable):
            await voiding(world).void_table(
                "z" * 26, "olga", "a typing error", Request("", "", b"")
            )


async def test_matches_that_ended_as_far_as_the_wallet_knows_are_left_alone(
    tmp_path: Path,
) -> None:
    """M5: a result that the wallet was not told does not count as paid out."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        await actor.submit(c.VoidMatch("olga", "once"), world.request("olga"))
        await actor.submit(c.PlayOn("anna"), world.request("anna"))
        await until(actor, lambda state: state.seats[0].status is SeatStatus.PAID)
        rows = await world.journal.stored_rows(TABLE_ID)
        assert matches_to_void(TABLE_ID, rows, told=rows[-1].seq) == [
            f"{TABLE_ID}-2",
            f"{TABLE_ID}-3",
        ]
        assert matches_to_void(TABLE_ID, rows, told=1)[0] == f"{TABLE_ID}-1"
