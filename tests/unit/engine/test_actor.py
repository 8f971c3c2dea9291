"""One table's commands: one after another, once each, and only what is committed counts."""

import asyncio
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

from okey.errors import OkeyError
from okey.rules.deal import commit
from okey.table import commands as c
from okey.table import events as e
from okey.table.commands import TimerKind
from okey.table.config import TableConfig
from okey.table.errors import MatchRunning, NotSeated, TimerStale, TurnExpired, TurnOver
from okey.table.evolve import evolve
from okey.table.state import TableState, running_timers
from okey_runtime.clock import VirtualClock
from services.engine.accepted import Accepted
from services.engine.actor import Change, TableActor
from services.engine.appending import Append, Verdict
from services.engine.errors import RequestIdReused, SeatedElsewhere, TableReloading
from services.engine.record import Row, encode_events
from services.engine.standstill import Standstill
from services.engine.steady_clock import SteadyClock
from tests.factories import dealt
from tests.unit.engine.world import mover, plain_move, turn_of, until, world_in


class Durable:
    """Commits every row after the loop has turned, so that other commands can come in between."""

    def __init__(self) -> None:
        self.rows: list[Append] = []

    async def append(self, row: Append) -> Verdict:
        await asyncio.sleep(0)
        self.rows.append(row)
        return None


def playing(clock: VirtualClock) -> TableActor:
    """An actor whose table is in its first turn, at the factories' time."""
    table = dealt()
    steady = SteadyClock(clock)
    actor = TableActor(
        "t" * 26,
        steady,
        Durable(),
        lambda *_: None,
        lambda _: None,
        Standstill(steady, stall_ms=2_000),
    )
    state: TableState | None = None
    for event in table.events:
        state = evolve(state, event)
    actor.restore(Change(None, table.state, Row(1, table.now_ms, tuple(table.events))))
    return actor


def turn_timer(actor: TableActor) -> c.Timer:
    return next(t for t in running_timers(actor.table) if t.kind is TimerKind.TURN)


ORDERS = [
    list(zip(commands, offsets, strict=True))
    for commands in product(("move", "timer"), repeat=4)
    for offsets in combinations_with_replacement((-1, 0, 1), 4)
]


@pytest.mark.parametrize("is_starter", [True, False])
async def test_of_timer_and_move_exactly_one_counts_at_every_interleaving(
    is_starter: bool,
) -> None:
    """U12: 4 commands around the deadline in all orders; the turn ends once, by the first due."""
    for order in ORDERS:
        clock = VirtualClock(dealt().now_ms)
        actor = playing(clock)
        running = asyncio.create_task(actor.run())
        if not is_starter:
            await actor.submit(plain_move(actor))
            await actor.submit(plain_move(actor))
        turn, timer = turn_of(actor), turn_timer(actor)
        move = plain_move(actor)
        clock.advance_ms(turn.deadline_ms - 1 - clock.now_ms())
        at = -1
        answers = []
        for command, offset in order:
            clock.advance_ms(offset - at)
            at = offset
            answers.append(actor.post(move if command == "move" else c.Expire(timer)))
        outcomes = await asyncio.gather(*answers, return_exceptions=True)
        check_one_counts(order, outcomes, is_move_the_last_action=turn.drawn is not None)
        running.cancel()


def check_one_counts(
    order: list[tuple[str, int]],
    outcomes: list[Accepted | BaseException],
    is_move_the_last_action: bool,
) -> None:
    counted = [
        (command, at)
        for (command, at), outcome in zip(order, outcomes, strict=True)
        if isinstance(outcome, Accepted)
    ]
    in_time = [(command, at) for command, at in order if command == "move" and at < 0]
    due = [(command, at) for command, at in order if command == "timer" and at >= 0]
    if is_move_the_last_action:
        assert counted == (in_time[:1] or due[:1])
    else:
        # A draw does not end the turn: the timer still does, once (U4).
        assert counted == in_time[:1] + due[:1]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, OkeyError)
            assert not isinstance(outcome, TableReloading)


async def test_a_commands_time_is_when_it_came_not_when_it_is_decided() -> None:
    """U12: a move that waits in the queue over its deadline still counts, the timer does not."""
    clock = VirtualClock(dealt().now_ms)
    actor = playing(clock)
    turn, timer = turn_of(actor), turn_timer(actor)
    clock.advance_ms(turn.deadline_ms - 1 - clock.now_ms())
    move = actor.post(plain_move(actor))
    clock.advance_ms(60_000)
    ring = actor.post(c.Expire(timer))
    late = actor.post(plain_move(actor))
    running = asyncio.create_task(actor.run())
    assert (await move).events
    with pytest.raises(TimerStale):
        await ring
    with pytest.raises((TurnOver, TurnExpired)):
        await late
    running.cancel()


async def test_a_caller_who_leaves_before_it_begins_changes_nothing() -> None:
    clock = VirtualClock(dealt().now_ms)
    actor = playing(clock)
    actor.post(plain_move(actor)).cancel()
    later = actor.post(plain_move(actor))
    running = asyncio.create_task(actor.run())
    assert (await later).seq == 2
    running.cancel()


async def test_the_same_request_gets_the_same_answer_also_after_a_restart(tmp_path: Path) -> None:
    """Double submit: once accepted, the row stands; other content under the id is refused."""
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        player, move = mover(actor), plain_move(actor)
        asked = world.request(player, "discard", "my-request")
        first = await actor.submit(move, asked)
        assert await actor.submit(move, asked) == first
        await world.crash()
        await world.boot()
        again = await world.tables.get(actor.table_id)
        assert await again.submit(move, asked) == first
        with pytest.raises(RequestIdReused, match="my-request"):
            await again.submit(move, world.request(player, "other", "my-request"))
        other = "anna" if player == "bert" else "bert"
        with pytest.raises(TurnOver):
            await again.submit(
                c.PlayerMove(other, move.turn, move.action),
                world.request(other, "discard", "my-request"),
            )


async def test_a_refusal_is_judged_anew(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.open()
        asked = world.request("bert", "leave", "leave-it")
        with pytest.raises(NotSeated):
            await actor.submit(c.LeaveSeat("bert"), asked)
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        assert (await actor.submit(c.LeaveSeat("bert"), asked)).events


async def test_a_refused_command_leaves_no_row(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        actor = await world.dealt()
        before = actor.seq
        with pytest.raises(MatchRunning):
            await actor.submit(c.LeaveSeat("anna"), world.request("anna"))
        assert actor.seq == before
        assert len(await world.journal.rows(actor.table_id)) == before


async def test_who_sits_elsewhere_is_told_where(tmp_path: Path) -> None:
    """W3: the second table refuses with the first one's id, and goes on."""
    async with world_in(tmp_path) as world:
        await world.open()
        second = await world.open(TableConfig("s" * 26, seat_count=2), "bert")
        with pytest.raises(SeatedElsewhere) as refusal:
            await second.submit(c.TakeSeat("anna"), world.request("anna"))
        assert refusal.value.metadata == {"table_id": "t" * 26}
        for way in ("t" * 26, "LeaveSeat", "Forfeit"):
            assert way in str(refusal.value)
        assert (await second.submit(c.TakeSeat("carl"), world.request("carl"))).events


async def test_a_row_of_another_owner_makes_the_table_load_anew(tmp_path: Path) -> None:
    """The fence: an owner that lost its place lets the table go and takes it over properly."""
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await until(actor, lambda state: state.seats[0].status.name == "PAID")
        taken = world.request("zoe")
        stranger = Append(
            actor.table_id, actor.seq + 1, world.clock.now_ms(), stranger_payload(), taken
        )
        assert await world.journal.append([stranger]) == [None]
        with pytest.raises(TableReloading):
            await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        again = await world.reloaded(actor)
        rows = await world.journal.rows(actor.table_id)
        assert again.table.seats[1].player == "zoe"
        assert isinstance(rows[-1].events[0], e.TableTakenOver | e.SeatPaid)


def stranger_payload() -> bytes:
    hold = f"{'t' * 26}-1-1-2"
    return encode_events([e.SeatRequested(1, "zoe", hold, 1 << 50)])


def test_a_seed_is_committed_by_its_hash() -> None:
    """T9: the engine seals a fresh seed for each command."""
    sealed = c.seal(b"\x01" * 32)
    assert sealed.commitment == commit(b"\x01" * 32)
