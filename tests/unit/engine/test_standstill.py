"""Times in which nothing can be decided: all clocks stand still together, then go on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from okey.rules.rule_set import DEFAULT_RULE_SET
from okey.rules.tile import Tile
from okey.table import commands as c
from okey.table.config import TableConfig
from okey.table.errors import TimerStale
from okey.table.state import Phase, running_timers
from okey_runtime.clock import VirtualClock
from okey_runtime.database import DatabaseAway
from services.engine.accepted import Accepted
from services.engine.actor import TableActor
from services.engine.errors import StandsStill
from services.engine.standstill import BEAT_MS, Standstill
from tests.unit.engine.doubles import AWAY
from tests.unit.engine.world import World, mover, plain_move, turn_of, until, world_in

GRACE_MS = DEFAULT_RULE_SET.takeover_grace_ms
OTHER = TableConfig("s" * 26, seat_count=2, rules=DEFAULT_RULE_SET)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_in(tmp_path) as made:
        yield made


async def two_tables(world: World) -> tuple[TableActor, TableActor]:
    first = await world.dealt()
    second = await world.dealt(OTHER, ("carl", "dora"))
    world.watch_the_process()
    await world.settled()
    return first, second


async def one_table(world: World) -> TableActor:
    actor = await world.dealt()
    world.watch_the_process()
    await world.settled()
    return actor


def left_ms(world: World, actor: TableActor) -> int:
    return turn_of(actor).deadline_ms - world.steady.now_ms()


async def going_again(world: World, actor: TableActor) -> TableActor:
    """The table once it has been taken over after a standstill."""
    async with asyncio.timeout(10):
        await world.standstill.over()
    return await world.reloaded(actor)


async def test_one_tables_failed_commit_stops_every_tables_clock(world: World) -> None:
    """U4: the database is found away at one table; both go on with what they had left then."""
    first, second = await two_tables(world)
    await world.pass_ms(10_000)
    lefts = left_ms(world, first), left_ms(world, second)
    world.journal.is_away = True
    with pytest.raises(DatabaseAway):
        await first.submit(plain_move(first), world.request(mover(first)))
    assert world.standstill.is_on
    await world.pass_ms(100_000)
    turns = turn_of(first).number, turn_of(second).number
    world.journal.is_away = False
    first, second = await going_again(world, first), await going_again(world, second)
    await until(first, lambda _: left_ms(world, first) > 0)
    await until(second, lambda _: left_ms(world, second) > 0)
    assert (left_ms(world, first), left_ms(world, second)) == lefts
    assert (turn_of(first).number, turn_of(second).number) == turns


async def test_who_asks_meanwhile_is_told_and_nothing_is_tried(world: World) -> None:
    """UNAVAILABLE at once, with a time to come back; the same request counts afterwards."""
    first, second = await two_tables(world)
    world.journal.is_away = True
    with pytest.raises(DatabaseAway):
        await first.submit(plain_move(first), world.request(mover(first)))
    asked = world.request(mover(second), "move")
    tried = world.journal.appends
    with pytest.raises(StandsStill) as refusal:
        await second.submit(plain_move(second), asked)
    assert refusal.value.retry_after_ms > 0
    assert world.journal.appends == tried
    world.journal.is_away = False
    second = await going_again(world, second)
    assert (await second.submit(plain_move(second), asked)).events


async def test_an_idle_engine_finds_out_by_its_renewal(world: World) -> None:
    """Nobody moves: the clocks stand still all the same, at most two seconds late."""
    actor = await one_table(world)
    await world.pass_ms(30_000)
    was_left = left_ms(world, actor)
    world.journal.is_away = True
    await world.pass_ms(120_000)
    assert world.standstill.is_on
    world.journal.is_away = False
    await going_again(world, actor)
    await until(actor, lambda _: was_left - 2_000 <= left_ms(world, actor) <= was_left)


def begin(world: World, actor: TableActor) -> asyncio.Future[Accepted]:
    """A move that is under way."""
    return actor.ask(plain_move(actor), world.request(mover(actor)))


async def test_a_silent_database_is_away_since_it_was_asked(world: World) -> None:
    """A commit that hangs: the clocks stand still since it began, however it ends."""
    first, second = await two_tables(world)
    await world.pass_ms(20_000)
    was_left = left_ms(world, second)
    world.journal.hold()
    moving = begin(world, first)
    await world.settled()
    await world.pass_ms(80_000)
    assert world.standstill.is_on
    world.journal.let_go()
    assert (await moving).events, "it went in after all"
    second = await going_again(world, second)
    await until(second, lambda _: left_ms(world, second) == was_left)


async def test_what_waited_for_the_database_starts_its_clocks_afterwards(world: World) -> None:
    """U4: a discard behind a commit that hangs; the next player has the full time, from the end."""
    first, second = await two_tables(world)
    if turn_of(second).drawn is None:
        await begin(world, second)
    number = turn_of(second).number
    world.journal.hold()
    hanging = begin(world, first)
    await world.settled()
    waiting = begin(world, second)
    await world.settled()
    await world.pass_ms(30_000)
    assert world.standstill.is_on
    world.journal.let_go()
    await asyncio.gather(hanging, waiting)
    assert turn_of(second).number == number + 1
    assert left_ms(world, second) == second.table.config.turn_timeout_ms


async def test_a_deal_that_waited_for_the_database_starts_its_clocks_afterwards(
    world: World,
) -> None:
    """U4: a match that was starting has no clock yet, and its first turn the full time."""
    first = await world.dealt()
    second = await world.open(OTHER, "carl")
    await second.submit(c.TakeSeat("dora"), world.request("dora"))
    await until(second, lambda state: state.phase is Phase.COUNTDOWN)
    world.wallet.script.always = AWAY
    await world.ring(second, c.TimerKind.COUNTDOWN)
    world.watch_the_process()
    world.journal.hold()
    hanging = begin(world, first)
    await world.settled()
    dealing = second.post(c.ConfirmStart(second.table.match_id))
    await world.settled()
    await world.pass_ms(30_000)
    world.journal.let_go()
    await asyncio.gather(hanging, dealing)
    assert left_ms(world, second) == second.table.config.turn_timeout_ms


async def test_what_waited_keeps_its_order(world: World) -> None:
    """A draw and a discard of one turn, sent one after the other without waiting."""
    first, second = await two_tables(world)
    while turn_of(second).drawn is not None:
        await begin(world, second)
    number = turn_of(second).number
    world.journal.hold()
    hanging = begin(world, first)
    await world.settled()
    drawing = begin(world, second)
    await world.settled()
    discarding = asyncio.create_task(
        second.submit(
            c.PlayerMove(mover(second), number, c.Discard(rack_of(second)[0])),
            world.request(mover(second)),
        )
    )
    await world.settled()
    await world.pass_ms(30_000)
    world.journal.let_go()
    await asyncio.gather(hanging, drawing, discarding)
    assert turn_of(second).number == number + 1


def rack_of(actor: TableActor) -> tuple[Tile, ...]:
    """What the seat to move holds."""
    assert actor.table.round is not None
    return actor.table.round.hands[turn_of(actor).seat].rack


async def test_a_clock_that_rang_into_the_silence_does_not_count(world: World) -> None:
    """U5: its moment came before anybody noticed, and after nothing could be decided any more."""
    first, second = await two_tables(world)
    await world.pass_ms(left_ms(world, first) - 1_000)
    number = turn_of(first).number
    world.journal.hold()
    moving = begin(world, second)
    await world.settled()
    await world.pass_ms(30_000)
    world.journal.let_go()
    await moving
    first = await going_again(world, first)
    await until(first, lambda _: left_ms(world, first) == GRACE_MS)
    assert turn_of(first).number == number
    await world.pass_ms(GRACE_MS)
    await until(first, lambda _: turn_of(first).number > number)


async def test_a_process_that_was_stopped_times_nobody_out(world: World) -> None:
    """The engine was paused for ten minutes: the turn goes on with what was left of it."""
    actor = await one_table(world)
    await world.pass_ms(10_000)
    number, was_left = turn_of(actor).number, left_ms(world, actor)
    world.clock.advance_ms(600_000)
    await until(actor, lambda _: left_ms(world, actor) > 0)
    assert turn_of(actor).number == number
    assert was_left <= left_ms(world, actor) <= was_left + 250


async def test_a_move_that_waited_while_the_process_was_stopped_is_not_late(world: World) -> None:
    """It came to a paused engine in time: told to come again, it counts."""
    actor = await one_table(world)
    await world.pass_ms(10_000)
    player, move = mover(actor), plain_move(actor)
    asked = world.request(player, "move")
    world.clock.advance_ms(600_000)
    with pytest.raises(StandsStill):
        await actor.submit(move, asked)
    await going_again(world, actor)
    assert (await actor.submit(move, asked)).events


async def test_an_answer_that_is_the_first_to_come_after_a_pause_counts_after_it(
    world: World,
) -> None:
    """What sinks, workers and clocks say is decided once everybody has its time back."""
    actor = await one_table(world)
    await world.pass_ms(10_000)
    number, was_left = turn_of(actor).number, left_ms(world, actor)
    [timer] = [t for t in running_timers(actor.table) if t.kind is c.TimerKind.TURN]
    world.clock.advance_ms(600_000)
    said = actor.post(c.Expire(timer))
    assert world.standstill.is_on
    await going_again(world, actor)
    with pytest.raises(TimerStale):
        await said
    assert turn_of(actor).number == number
    assert was_left <= left_ms(world, actor) <= was_left + 250


async def test_a_loop_that_comes_round_too_late_is_one_that_stood_still(world: World) -> None:
    """Starved: each part runs again and again, but the clock's own turn comes seconds late."""
    actor = await one_table(world)
    await world.pass_ms(10_000)
    was_left = left_ms(world, actor)
    for _ in range(4):
        world.clock.advance_ms(1_000)
        world.standstill.notice()
    await world.settled()
    await going_again(world, actor)
    await until(actor, lambda _: was_left - 250 <= left_ms(world, actor) <= was_left)


async def test_a_loop_that_is_a_little_late_stops_nothing(world: World) -> None:
    actor = await one_table(world)
    seq = actor.seq
    for _ in range(10):
        world.clock.advance_ms(1_900)
        await world.settled()
    assert actor.seq == seq
    assert not world.standstill.is_on


async def test_a_loop_is_late_only_where_it_is_so_twice_in_a_row(world: World) -> None:
    """One hiccup refuses nobody a table."""
    world.watch_the_process()
    await world.settled()
    lags = []
    for late_ms in (900, 0, 600, 900, 700, 0):
        world.clock.advance_ms(BEAT_MS + late_ms)
        await world.settled()
        lags.append(world.standstill.lag_ms)
    assert lags == [0, 0, 0, 600, 700, 0]


async def test_a_crash_during_the_outage_takes_nothing_either(world: World) -> None:
    """The renewals tell the moment when the clocks stopped until all of them go again."""
    actor = await one_table(world)
    await world.pass_ms(10_000)
    was_left = left_ms(world, actor)
    world.journal.is_away = True
    with pytest.raises(DatabaseAway):
        await actor.submit(plain_move(actor), world.request(mover(actor)))
    await world.pass_ms(45_000)
    world.journal.is_away = False
    await world.sharing.renew()
    await world.crash()
    world.clock.advance_ms(40_000)
    await world.boot()
    again = await world.tables.get(actor.table_id)
    assert left_ms(world, again) == was_left


async def test_what_the_engine_asks_of_itself_waits_for_the_end(world: World) -> None:
    """An answer of the wallet or a bot's move comes meanwhile: it is decided afterwards."""
    actor = await world.dealt()
    world.journal.is_away = True
    world.standstill.begin(world.steady.now_ms(), "DATABASE_AWAY")
    waiting = actor.post(c.VoidMatch("op", "while it stands still"))
    await world.settled()
    assert not waiting.done()
    world.journal.is_away = False
    seq = actor.seq
    assert (await waiting).seq == seq + 2, "the take-over first"


def test_a_standstill_under_way_is_a_metric() -> None:
    """An alert tells of it while it lasts, since the engine stays ready."""
    clock = VirtualClock()
    standstill = Standstill(clock, stall_ms=2_000)

    def standing_s() -> float | None:
        return REGISTRY.get_sample_value("okey_engine_standing_still_seconds")

    assert standing_s() == 0
    clock.advance_ms(60_000)
    standstill.begin(clock.now_ms() - 10_000, "DATABASE_AWAY")
    clock.advance_ms(30_000)
    assert standing_s() == 40
    standstill.end()
    assert standing_s() == 0


def test_nothing_is_noticed_before_somebody_looks() -> None:
    """An engine that loads its tables may take its time."""
    clock = VirtualClock()
    standstill = Standstill(clock, stall_ms=2_000)
    clock.advance_ms(60_000)
    standstill.notice()
    assert not standstill.is_on
