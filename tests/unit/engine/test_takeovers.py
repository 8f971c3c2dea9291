"""Taking a table over is tried until it succeeds, or shows that the table itself is at fault."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from okey.errors import Exhausted, InvalidInput, Unavailable
from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.decide import step
from okey.table.state import TableState
from okey_runtime import backoff
from okey_runtime.database import DatabaseAway, DatabaseBusy, DatabaseRefused
from okey_runtime.status import OK, WARNING, WRONG
from services.engine.actor import TableActor
from services.engine.errors import EventNotReadable, TableQuarantined
from services.engine.overdue import LATE_MS
from services.engine.status import standing
from tests.unit.engine.world import TABLE_ID, World, mover, plain_move, turn_of, until, world_in

OTHER = TableConfig("s" * 26, seat_count=2, rules=DEFAULT_RULE_SET)


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(backoff, "LAST_WAIT_S", 0.01)
    monkeypatch.setattr("services.engine.reloads.WAIT_S", 0.01)


def failing_takeovers(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Exception]:
    """The next take-overs of the first table fail so; what is left of them."""
    left = list(errors)

    def failing(state: TableState | None, command: c.Command, context: c.Context) -> Any:
        is_its = state is not None and state.config.table_id == TABLE_ID
        if isinstance(command, c.TakeOver) and is_its and left:
            raise left.pop(0)
        return step(state, command, context)

    monkeypatch.setattr("services.engine.actor.step", failing)
    return left


async def stood_still(world: World, *tables: TableActor) -> None:
    """An outage, after which every table is taken over."""
    world.journal.is_away = True
    with pytest.raises(DatabaseAway):
        await tables[0].submit(plain_move(tables[0]), world.request(mover(tables[0])))
    world.journal.is_away = False
    async with asyncio.timeout(10):
        await world.standstill.over()


@pytest.mark.parametrize(
    "error", [DatabaseAway("x"), DatabaseRefused("x"), DatabaseBusy("x"), EventNotReadable("x")]
)
async def test_a_take_over_that_fails_is_tried_until_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Unavailable | Exhausted
) -> None:
    """U4: of a table in memory, after an outage that was another's."""
    async with world_in(tmp_path) as world:
        table, other = await world.dealt(), await world.dealt(OTHER, ("carl", "dora"))
        left = failing_takeovers(monkeypatch, error, error, error)
        await stood_still(world, other)
        async with asyncio.timeout(10):
            while left:
                await world.settled()
        again = await world.reloaded(table)
        await until(again, lambda _: turn_of(again).deadline_ms > world.steady.now_ms())
        await again.submit(plain_move(again), world.request(mover(again)))
        await world.ring(again, c.TimerKind.TURN)


@pytest.mark.parametrize("error", [ValueError("a bug"), InvalidInput("a bug")])
async def test_a_take_over_that_our_own_code_fails_stops_its_table_alone_and_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Quarantine, as for rows that do not replay; the other table goes on."""
    async with world_in(tmp_path) as world:
        table, other = await world.dealt(), await world.dealt(OTHER, ("carl", "dora"))
        failing_takeovers(monkeypatch, *[error] * 100)
        with capture_logs() as logs:
            await stood_still(world, other)
            async with asyncio.timeout(10):
                while not world.tables.quarantine.tables:
                    await world.settled()
        assert "table_quarantined" in [line["event"] for line in logs]
        with pytest.raises(TableQuarantined):
            await world.tables.get(table.table_id)
        again = await world.reloaded(other)
        await until(again, lambda _: turn_of(again).deadline_ms > world.steady.now_ms())
        assert standing(world.tables, world.standstill).state == WARNING


async def test_loading_goes_on_after_an_error_that_nobody_foresaw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said with its traceback, and the table comes back."""
    async with world_in(tmp_path) as world:
        table = await world.dealt()
        left, look = [KeyError("a bug")] * 3, world.tables.check_owner

        async def failing() -> None:
            if left:
                raise left.pop()
            await look()

        world.tables.check_owner = failing
        with capture_logs() as logs:
            await stood_still(world, table)
            again = await world.reloaded(table)
        await until(again, lambda _: turn_of(again).deadline_ms > world.steady.now_ms())
        (said,) = (each for each in logs if each["log_level"] == "error")
        assert (said["event"], said["table_id"]) == ("reload_failed", TABLE_ID)


async def test_tables_past_their_deadline_are_counted_whatever_holds_them(tmp_path: Path) -> None:
    """No actor, no timer: the count does not rest on what has failed, and the doctor reads it."""
    async with world_in(tmp_path) as world:
        table = await world.dealt()
        assert standing(world.tables, world.standstill).state == OK
        late_ms = turn_of(table).deadline_ms - world.steady.now_ms() + LATE_MS
        world.tables.timers.clear()
        world.clock.advance_ms(late_ms)
        assert world.tables.overdue.count() == 0
        world.clock.advance_ms(1)
        assert world.tables.overdue.count() == 1
        found = standing(world.tables, world.standstill)
        assert (found.state, found.text.split()[0]) == (WRONG, "1")
        world.tables.drop(table.table_id)
        assert world.tables.overdue.count() == 1
        await world.interventions.quarantine(table.table_id, "audit")
        assert world.tables.overdue.count() == 0, "that shows elsewhere"


async def test_tables_of_others_and_closed_ones_are_not_overdue(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await world.dealt()
        world.tables.timers.clear()
        world.clock.advance_ms(10_000_000)
        assert world.tables.overdue.count() == 1
        world.tables.give_up(set(world.ownership.held), lambda _: "")
        assert world.tables.overdue.count() == 0


async def test_tables_that_wait_to_be_loaded_are_overdue_too(tmp_path: Path) -> None:
    """They came with their shards, and the rows of one do not come from the disk."""
    async with world_in(tmp_path) as world:
        await world.dealt()
        await world.crash()
        await world.boot(stuck=TABLE_ID)
        world.clock.advance_ms(10_000_000)
        assert world.tables.overdue.count() == 1


async def test_an_outage_that_comes_back_at_once_is_asked_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renewals succeed and commits do not, as where only some of the disk is full."""
    async with world_in(tmp_path) as world:
        table = await world.dealt()
        waits: list[float] = []
        monkeypatch.setattr("services.engine.standstill.waits_s", lambda: noted(waits))
        world.journal.losses = ["before"] * 12
        with pytest.raises(DatabaseAway):
            await table.submit(plain_move(table), world.request(mover(table)))
        async with asyncio.timeout(10):
            while world.journal.losses:
                await world.settled()
        assert waits == sorted(waits)
        assert len(waits) > 5


def noted(waits: list[float]) -> Iterator[float]:
    for number in range(1_000):
        waits.append(number)
        yield 0.001
