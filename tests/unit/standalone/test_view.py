"""What a person sees of a running cluster: who owns what, and what died."""

import io
from collections import deque
from pathlib import Path

from rich.console import Console

from okey.api.engine.v1 import engine_pb2
from okey_runtime.clock import VirtualClock
from services.standalone.looking import Looked, State, summary
from services.standalone.plan import ChildPlan
from services.standalone.ports import Ports
from services.standalone.supervisor import Supervisor
from services.standalone.view import Screen, render


def a_supervisor(folder: Path) -> Supervisor:
    plans = [
        ChildPlan(f"engine-{number}", "engine", (), {}, Ports(7500 + number)) for number in (1, 2)
    ]
    return Supervisor(plans, folder, folder / "key", VirtualClock(), lambda _: None)


def a_member(
    name: str, lease_left_ms: int = 5_100, *, is_taking: bool = True
) -> engine_pb2.EngineMember:
    return engine_pb2.EngineMember(
        engine=name, shards=128, tables=12, lease_left_ms=lease_left_ms, is_taking=is_taking
    )


def shown(supervisor: Supervisor, looked: Looked, *events: str) -> str:
    console = Console(width=160, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(supervisor, looked, 20_000, deque(events)))
    return capture.get()


def test_each_engine_with_its_shards_tables_and_lease(tmp_path: Path) -> None:
    members = {"engine-1": a_member("engine-1"), "engine-2": a_member("engine-2", 0)}
    states = {"engine-1": State.READY, "engine-2": State.SILENT}
    first, second = shown(a_supervisor(tmp_path), Looked(states, members, [])).splitlines()[1:3]
    assert first.split() == ["engine-1", "127.0.0.1:7501", "0", "ready", "128", "12", "5.1", "s"]
    assert second.split()[3:] == ["no", "answer", "128", "12", "ended"]


def test_an_engine_that_takes_no_shards(tmp_path: Path) -> None:
    members = {"engine-1": a_member("engine-1", is_taking=False)}
    text = shown(a_supervisor(tmp_path), Looked({"engine-1": State.NOT_READY}, members, []))
    assert "takes none" in text.splitlines()[1]


def test_what_died_how_often_and_when(tmp_path: Path) -> None:
    supervisor = a_supervisor(tmp_path)
    life = supervisor.lives["engine-2"]
    life.restarts, life.last_end, life.ended_ms = 2, "was ended by SIGKILL", 11_000
    text = shown(supervisor, Looked({}, {}, ["no engine answers"]), "12:00:00 engine-2 is back")
    assert "2x, was ended by SIGKILL 9 s ago" in text.splitlines()[2]
    assert "down" in text.splitlines()[2]
    assert text.splitlines()[-2:] == ["no engine answers", "12:00:00 engine-2 is back"]


def test_shards_that_nobody_has_are_counted() -> None:
    places = [
        engine_pb2.ShardPlace(shard=n, engine=e, tables=3) for n, e in enumerate(("a", "", "b"))
    ]
    told = summary(engine_pb2.ListShardsResponse(shards=places))
    assert told == ["9 tables in 3 shards of 2 engines; 1 shards have no engine"]
    told = summary(engine_pb2.ListShardsResponse(shards=places[:1]))
    assert told == ["3 tables in 1 shards of 1 engines"]


def test_where_there_is_no_terminal_things_are_said_in_lines() -> None:
    out = io.StringIO()
    with Screen(Console(file=out), has_table=True) as screen:
        screen.say("engine-1 [was] ended\nby itself")
    assert out.getvalue() == "engine-1 [was] ended\nby itself\n"
