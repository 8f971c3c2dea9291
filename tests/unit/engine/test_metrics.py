"""The engine's metrics count what happens."""

from functools import cache
from pathlib import Path

import pytest

from okey.rules.variant import Mode, Variant
from okey.table import commands as c
from okey.table import events as e
from okey.table.errors import NotSeated
from services.engine.counting import count_row, count_table, uncount_table
from tests.metrics import sample
from tests.unit.engine.world import world_in
from tests.walk import KINDS, Step, table_named, walk


@cache
def lives(kind: str) -> list[Step]:
    """Tables of that kind, from their opening on."""
    return [step for seed in range(6) for step in walk(table_named(kind), seed, 150)]


COUNTERS = {
    e.TurnTimedOut: "okey_engine_timeouts_total",
    e.StandInSeated: "okey_engine_stand_ins_total",
    e.PlayerReturned: "okey_engine_returns_total",
    e.TableTakenOver: "okey_engine_table_takeovers_total",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_counted_once(kind: str) -> None:
    """Events, time-outs, stand-ins, returns, forfeits and the ends of rounds and matches."""
    rows = lives(kind)
    events = [event for step in rows for event in step.row.events]
    variant, mode = KINDS[kind].variant.name, KINDS[kind].mode.name
    expected: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def expect(name: str, **labels: str) -> None:
        key = (name, tuple(labels.items()))
        expected[key] = expected.get(key, 0) + 1

    for event in events:
        expect("okey_engine_events_total", type=type(event).__name__)
        match event:
            case e.SeatForfeited(reason=reason):
                expect("okey_engine_forfeits_total", reason=reason.name)
            case e.RoundEnded(result=result):
                labels = {"variant": variant, "mode": mode, "outcome": result.name}
                expect("okey_engine_rounds_total", **labels)
            case e.MatchEnded(kind=outcome):
                labels = {"variant": variant, "mode": mode, "outcome": outcome.name}
                expect("okey_engine_matches_total", **labels)
            case e.MatchVoided():
                labels = {"variant": variant, "mode": mode, "outcome": "VOIDED"}
                expect("okey_engine_matches_total", **labels)
            case _ if type(event) in COUNTERS:
                expect(COUNTERS[type(event)])
            case _:
                pass
    before = {key: sample(key[0], **dict(key[1])) for key in expected}
    for step in rows:
        count_row(step.before, step.after, step.row)
    for key, count in expected.items():
        assert sample(key[0], **dict(key[1])) - before[key] == count, key


def test_walks_hold_everything_that_is_counted() -> None:
    """Else the test above would count nothing of a kind."""
    seen = {type(event) for kind in KINDS for step in lives(kind) for event in step.row.events}
    assert {*COUNTERS, e.SeatForfeited, e.RoundEnded, e.MatchEnded, e.MatchVoided} <= seen


def test_a_table_counts_once_in_its_state() -> None:
    """By variant, mode and state, from the first row until it leaves the memory."""
    steps = list(walk(table_named("esli"), 1, 60))
    labels = {"variant": Variant.CANAK.name, "mode": Mode.ESLI.name}
    states = {step.after.phase.name for step in steps}
    before = {each: sample("okey_engine_tables", state=each, **labels) for each in states}
    count_table(None)
    for step in steps:
        count_row(step.before, step.after, step.row)
        now = {each: sample("okey_engine_tables", state=each, **labels) for each in states}
        changed = {each: now[each] - before[each] for each in states if now[each] != before[each]}
        assert changed == {step.after.phase.name: 1}
    uncount_table(steps[-1].after)
    assert all(sample("okey_engine_tables", state=s, **labels) == before[s] for s in states)


async def test_commands_count_by_kind_and_code(tmp_path: Path) -> None:
    name = "okey_engine_commands_total"
    accepted = sample(name, kind="TakeSeat", code="OK")
    refused = sample(name, kind="LeaveSeat", code="NOT_SEATED")
    latency = sample("okey_engine_command_seconds_count")
    async with world_in(tmp_path) as world:
        actor = await world.open()
        await actor.submit(c.TakeSeat("bert"), world.request("bert"))
        with pytest.raises(NotSeated):
            await actor.submit(c.LeaveSeat("zoe"), world.request("zoe"))
    assert sample(name, kind="TakeSeat", code="OK") == accepted + 1
    assert sample(name, kind="LeaveSeat", code="NOT_SEATED") == refused + 1
    assert sample("okey_engine_command_seconds_count") > latency
