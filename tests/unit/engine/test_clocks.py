"""Every clock alike: whatever keeps the engine from deciding, what was left then is left after."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.table.commands import TimerKind
from okey.table.config import TableConfig
from okey.table.state import Phase, running_timers
from okey_runtime.clock import VirtualClock
from services.engine.appending import Append
from services.engine.record import encode_events
from tests.driver import START_MS, Driver
from tests.factories import canak, klasik, opened, paid, shuffled
from tests.unit.engine.doubles import AWAY
from tests.unit.engine.world import RENEW_EVERY_MS, World
from tests.unit.table.test_takeover import fillable


def away() -> Driver:
    """The turn of somebody else, while seat 0 is away."""
    table = shuffled()
    table.away(0)
    table.pass_turn()
    return table


def drawn_out(config: TableConfig) -> Driver:
    """A first round in which nobody finished, as its events tell it."""
    table = shuffled(config)
    while table.is_in(Phase.PLAYING):
        table.pass_turn()
    return table


def paused() -> Driver:
    return drawn_out(klasik())


def nachspiel() -> Driver:
    table = drawn_out(canak())
    table.settle()
    return table


KIND = TimerKind
CLOCKS: list[tuple[Callable[[], Driver], TimerKind, int]] = [
    (shuffled, KIND.TURN, 60_000),
    (away, KIND.AWAY, 90_000),
    (paid, KIND.COUNTDOWN, 3_000),
    (paused, KIND.ROUND_PAUSE, 5_000),
    (nachspiel, KIND.NACHSPIEL, 60_000),
    (opened, KIND.IDLE, 1_800_000),
    (fillable, KIND.HOUSE_FILL, 30_000),
]

GRACE_MS = DEFAULT_RULE_SET.takeover_grace_ms
LATEST_MS = START_MS + 600_000
AWAY_MS = 40_000

# How long the clocks have run: at 10 s the shortest have rung long ago.
INTO = [1_000, 10_000]


class Clocks:
    """One engine with a table for each clock, each of which has just begun."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def begin(self) -> None:
        for number, (build, _, _) in enumerate(CLOCKS):
            table = build()
            timers = running_timers(table.state)
            row = Append(
                table_id(number),
                1,
                table.now_ms,
                encode_events(table.events),
                deadline_ms=min(timer.deadline_ms for timer in timers),
            )
            assert await self.world.journal.append([row]) == [None]
        await self.world.crash()
        self.world.forget_renewals()
        await self.world.boot()
        self.world.watch_the_process()
        await self.world.settled()

    async def check(self, into_ms: int, spare_ms: int) -> None:
        """Each clock that still runs has what it had after ``into_ms``, at most so much more; the
        grace at least, never more than the full time.
        """
        await self.world.standstill.over()
        for number, (_, kind, full_ms) in enumerate(CLOCKS):
            if full_ms <= into_ms:
                continue
            actor = await self.world.tables.get(table_id(number))
            # What was asked before the take-over is decided by now.
            await actor.go_on("engine", self.world.steady.now_ms())
            [timer] = [each for each in running_timers(actor.table) if each.kind is kind]
            left_ms = timer.deadline_ms - self.world.steady.now_ms()
            least_ms = min(full_ms, max(GRACE_MS, full_ms - into_ms))
            assert least_ms <= left_ms <= min(full_ms, least_ms + spare_ms), kind.name


def table_id(number: int) -> str:
    return f"{number:026}"


@pytest.fixture
async def clocks(tmp_path: Path) -> AsyncIterator[Clocks]:
    world = World(tmp_path)
    world.clock = VirtualClock(LATEST_MS)
    world.wallet.script.always = world.rating.script.always = AWAY
    await world.start()
    made = Clocks(world)
    await made.begin()
    yield made
    await world.stop()


@pytest.mark.parametrize("into_ms", INTO)
async def test_an_engine_that_died_costs_no_clock_anything(clocks: Clocks, into_ms: int) -> None:
    """U4, U8, U13, W1, W5, Ç9: dead 10 s into 60 s, back 40 s later: 50 to 52 s remain; so each."""
    await clocks.world.pass_ms(into_ms)
    await clocks.world.crash()
    clocks.world.clock.advance_ms(AWAY_MS)
    await clocks.world.boot()
    await clocks.check(into_ms, spare_ms=RENEW_EVERY_MS)


@pytest.mark.parametrize("into_ms", INTO)
async def test_a_database_that_was_away_costs_no_clock_anything(
    clocks: Clocks, into_ms: int
) -> None:
    """U4, U8, U13, W1, W5, Ç9: found away 10 s into 60 s, back 40 s later: 50 s remain."""
    await clocks.world.pass_ms(into_ms)
    clocks.world.journal.is_away = True
    await clocks.world.sharing.renew()
    await clocks.world.pass_ms(AWAY_MS)
    clocks.world.journal.is_away = False
    await clocks.check(into_ms, spare_ms=0)


@pytest.mark.parametrize("into_ms", INTO)
async def test_a_process_that_was_stopped_costs_no_clock_anything(
    clocks: Clocks, into_ms: int
) -> None:
    """U4, U8, U13, W1, W5, Ç9: paused 10 s into 60 s, for 40 s: 50 s remain."""
    await clocks.world.pass_ms(into_ms)
    clocks.world.clock.advance_ms(AWAY_MS)
    await clocks.world.settled()
    await clocks.check(into_ms, spare_ms=0)
